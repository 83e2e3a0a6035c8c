import { describe, expect, it } from "vitest";
import { parseBySchema, textOf, vectorFiles, type Vector, type VectorFile } from "./support.js";

const files = vectorFiles();

/** Each role that receives the messages of a file; a tool's message has one reader. */
function receivers(file: VectorFile): ("brain" | "foot" | undefined)[] {
  if (file.schema === undefined) return ["brain", "foot"];
  return file.to ?? [undefined];
}

function verdicts(file: VectorFile, vector: Vector) {
  return receivers(file).map((role) => parseBySchema(file.schema, textOf(vector), vector.features, role));
}

describe.each(files)("$name", (file) => {
  it.each(file.valid ?? [])("accepts: $name", (vector) => {
    for (const got of verdicts(file, vector)) expect(got).toMatchObject({ ok: true });
  });

  it.each(file.invalid)("refuses: $name", (vector) => {
    for (const got of verdicts(file, vector)) {
      expect(got).toMatchObject({ ok: false, error: { place: vector.place, rule: vector.rule, code: vector.code } });
    }
  });

  const wrong = (["brain", "foot"] as const).filter((role) => file.to !== undefined && !file.to.includes(role));
  for (const role of wrong) {
    it(`is refused by a ${role}`, () => {
      for (const vector of file.valid ?? []) {
        const got = parseBySchema(file.schema, textOf(vector), vector.features, role);
        expect(got).toMatchObject({ ok: false, error: { place: "/type", code: "unexpected_frame" } });
      }
    });
  }

  it("comes out the same when JSON.parse has read it first, where that can see what is wrong", () => {
    for (const vector of [...(file.valid ?? []), ...file.invalid]) {
      let value: unknown;
      try {
        value = JSON.parse(textOf(vector));
      } catch {
        continue;
      }
      if (typeof value === "string" || unseen.has(vector.rule ?? "") || rounded.has(vector.name)) continue;
      const fromText = verdicts(file, vector);
      const fromValue = receivers(file).map((role) => parseBySchema(file.schema, value, vector.features, role));
      expect(fromValue, vector.name).toEqual(fromText);
    }
  });
});

// What JSON.parse hides from a reader.
const unseen = new Set(["duplicate", "syntax", "numberForm"]);
const rounded = new Set(["a number that rounds to the largest"]);

it("tries as many vectors as there are", () => {
  const all = files.flatMap((file) => [...(file.valid ?? []), ...file.invalid]);
  expect(all.length).toBeGreaterThan(700);
});
