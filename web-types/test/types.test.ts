// The types against json-schema-to-typescript's, which reads the same schemas on
// its own: each must be assignable to the other.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compile, type JSONSchema } from "json-schema-to-typescript";
import { afterAll, expect, it } from "vitest";
import { packageFolder, schemas } from "./support.js";

// Inside the package, so that tsc resolves as it does for the rest.
const folder = mkdtempSync(join(packageFolder, "node_modules", ".types-test-"));
afterAll(() => rmSync(folder, { recursive: true }));

type Node = Record<string, unknown>;

/**
 * Writes out references, and prepares for what JSON Schema cannot say: a member that may be left out and reads as
 * null is always there once it was read, and what an open object holds besides is dropped. anyOf only bounds a string.
 */
function prepared(file: string, node: unknown): unknown {
  if (Array.isArray(node)) return node.map((item) => prepared(file, item));
  if (typeof node !== "object" || node === null) return node;
  const { $ref, ...rest } = node as Node;
  if (typeof $ref === "string") return { ...(prepared(...resolved(file, $ref)) as Node), title: undefined };
  const out: Node = {};
  for (const [name, below] of Object.entries(rest)) {
    if (!["additionalProperties", "anyOf", "$id", "$schema", "$defs", "title", "if", "then", "examples", "description"].includes(name)) out[name] = prepared(file, below);
  }
  if (node !== null && (node as Node)["type"] === "object") {
    const properties = ((node as Node)["properties"] ?? {}) as Record<string, Node>;
    const always = Object.keys(properties).filter((name) => properties[name]?.["x-emit-null"] === true);
    out["properties"] = Object.fromEntries(Object.entries(properties).map(([name, below]) => [name, prepared(file, below)]));
    out["required"] = [...(((node as Node)["required"] as string[] | undefined) ?? []), ...always];
    out["additionalProperties"] = false;
  }
  return out;
}

function resolved(file: string, ref: string): [string, unknown] {
  const [path, name] = ref.split("#/$defs/") as [string, string];
  const target = path === "" ? file : join(file, "..", path).replaceAll("\\", "/");
  return [target, (schemas().get(target)?.["$defs"] as Node)[name]];
}

it("are assignable to json-schema-to-typescript's and the other way round", { timeout: 120_000 }, async () => {
  const files = [...schemas()].filter(([file]) => file.includes("/")).sort();
  let test = 'import type * as ours from "../../src/index.js";\nimport type * as theirs from "./theirs.js";\n' +
    "type Both<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;\n";
  let theirs = "";
  for (const [file, schema] of files) {
    const title = schema["title"] as string;
    theirs += await compile(prepared(file, schema) as JSONSchema, title, { bannerComment: "", format: false, maxItems: -1, additionalProperties: false });
    test += `export const is${title}: Both<ours.${title}, theirs.${title}> = true;\n`;
  }
  // The comparison must be able to fail: each of these is wrong in one way.
  for (const [i, change] of [
    "Omit<theirs.TransferChunk, 'seq'> & { seq: string }", "Omit<theirs.TransferChunk, 'last'>", "Omit<theirs.TransferChunk, 'last'> & { last?: boolean }",
    "Omit<theirs.TransferChunk, 'type'> & { type: string }", "theirs.TransferChunk & { more: 1 }",
  ].entries()) {
    test += `// @ts-expect-error not the same\nexport const different${i}: Both<ours.TransferChunk, ${change}> = true;\n`;
  }
  expect(files.length).toBeGreaterThan(20);
  writeFileSync(join(folder, "theirs.ts"), theirs);
  writeFileSync(join(folder, "test.ts"), test);
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ extends: "../../tsconfig.json", include: ["test.ts"] }));
  const tsc = spawnSync(process.execPath, [join(packageFolder, "node_modules/typescript/bin/tsc"), "-p", folder], { encoding: "utf8" });
  expect(tsc.stdout + tsc.stderr).toBe("");
  expect(tsc.status).toBe(0);
});
