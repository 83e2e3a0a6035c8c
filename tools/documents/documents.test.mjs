// gen/asyncapi.yaml and gen/openapi.yaml as the official parsers of their
// formats see them. The Go tests look at the contents.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import asyncapi from "@asyncapi/parser";
import { validate } from "@readme/openapi-parser";

const document = (name) => fileURLToPath(new URL(`../../gen/${name}`, import.meta.url));
const asyncText = readFileSync(document("asyncapi.yaml"), "utf8");
const openText = readFileSync(document("openapi.yaml"), "utf8");

// spoiled is the text with one place changed, which must be there.
function spoiled(text, from, to) {
  assert.ok(text.includes(from), `no ${from} in the document: the test is out of date`);
  return text.replace(from, to);
}

async function asyncProblems(text) {
  const { document: parsed, diagnostics } = await new asyncapi.Parser().parse(text);
  const problems = diagnostics.map((d) => `${d.path.join("/")}: ${d.message}`);
  return { parsed, problems };
}

async function openProblems(text) {
  const folder = mkdtempSync(join(tmpdir(), "documents-"));
  try {
    const file = join(folder, "openapi.yaml");
    writeFileSync(file, text);
    const result = await validate(file);
    return [...(result.errors ?? []), ...result.warnings].map((e) => e.message);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const asyncGood = await asyncProblems(asyncText);

test("the AsyncAPI parser has nothing to say about gen/asyncapi.yaml", () => {
  assert.deepEqual(asyncGood.problems, []);
  assert.equal(asyncGood.parsed.version(), "3.1.0");
});

test("every frame is sent or received, with its lane, and its example is one", () => {
  const { parsed } = asyncGood;
  const used = new Set(parsed.operations().all().flatMap((o) => o.messages().all().map((m) => m.name())));
  const messages = parsed.components().messages().all();
  assert.ok(messages.length >= 11);
  for (const m of messages) {
    assert.ok(used.has(m.name()), `${m.name()} belongs to no operation`);
    assert.match(m.extensions().get("x-lane")?.value() ?? "", /^(control|data)$/, m.name());
    assert.ok(m.examples().all().length > 0, `${m.name()} has no example`);
    assert.equal(m.examples().all()[0].payload().type, m.name());
  }
});

test("the AsyncAPI parser refuses a type that does not exist", async () => {
  const { problems } = await asyncProblems(spoiled(asyncText, "type: integer", "type: int"));
  assert.ok(problems.some((p) => /^components\/messages\/.*\/type: /.test(p)), problems.join("\n"));
});

test("the OpenAPI parser has nothing to say about gen/openapi.yaml", async () => {
  assert.deepEqual(await openProblems(openText), []);
});

for (const [what, from, to] of [
  ["a reference to nothing", "$ref: '#/components/schemas/ErrorBody'", "$ref: '#/components/schemas/Body'"],
  ["a parameter in no place", "in: query", "in: body"],
]) {
  test(`the OpenAPI parser refuses ${what}`, async () => {
    const problems = await openProblems(spoiled(openText, from, to)).catch((e) => [e.message]);
    assert.notDeepEqual(problems, []);
  });
}
