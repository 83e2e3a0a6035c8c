// The reader against the Go decoders, and both against ajv, over the instances of
// tools/framegen/difftest.
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { beforeAll, describe, expect, it } from "vitest";
import { differences } from "./ajv-differences.js";
import { expand, instances, parseBySchema, schemas, textOf, vectorFiles, type Instance } from "./support.js";

let features: string[];
let all: Instance[];

beforeAll(() => {
  ({ features, all } = instances());
}, 600_000);

describe("the instances", () => {
  it("are many, and some of each kind are accepted", () => {
    expect(all.length).toBeGreaterThan(5_000);
    for (const kind of ["frame", "input", "output", "body"]) {
      const ofKind = all.filter((instance) => instance.kind === kind);
      expect(ofKind.filter((instance) => instance.ok).length, kind).toBeGreaterThan(50);
      expect(ofKind.filter((instance) => !instance.ok).length, kind).toBeGreaterThan(50);
    }
  });

  it("are refused with the words of the Go decoders, and accepted with the same contents", { timeout: 600_000 }, () => {
    const different: string[] = [];
    for (const instance of all) {
      const got = parseBySchema(instance.schema, expand(instance.text), features);
      const wanted = instance.ok ? canonical(JSON.parse(expand(instance.out ?? ""))) : refusalInGo(instance);
      const found = got.ok ? canonical(got.value) : refusalOf(got.error);
      if (found !== wanted) different.push(`${instance.schema}: ${instance.text.slice(0, 300)}\n  Go: ${wanted.slice(0, 300)}\n  TypeScript: ${found.slice(0, 300)}`);
    }
    expect(different.slice(0, 10).join("\n"), `${different.length} of ${all.length} differ`).toBe("");
  });
});

/** Contents without spelling: Go writes times without the zeros at their end, and members in the order of the schema. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, below: unknown) => {
    if (typeof below === "string") return below.replace(/^(\d{4}-\d\d-\d\dT[\d:]{8})(?:\.0+|(\.\d*?)0+)Z$/, "$1$2Z");
    return below;
  });
}

function refusalInGo(instance: Instance): string {
  return refusal(instance.code, instance.place, instance.rule, instance.reason, instance.type, instance.id);
}

function refusalOf(error: { code: string; place: string; rule: string; reason: string; type?: string; transferId?: string }): string {
  return refusal(error.code, error.place, error.rule, error.reason, error.type, error.transferId);
}

/**
 * How a text fails to be I-JSON is told in words of each reader's own, and where it has a double as well, either is
 * right; the vectors pin down each on its own.
 */
function refusal(code?: string, place?: string, rule?: string, reason?: string, type = "", id = ""): string {
  if (rule === "syntax" || rule === "duplicate") return `${code} at ${place}: no I-JSON`;
  return `${code} at ${place}, ${rule}: ${reason} ${type} ${id}`;
}

describe("ajv", () => {
  const ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true });
  (formats as unknown as (ajv: Ajv2020) => void)(ajv);
  for (const [, schema] of schemas()) ajv.addSchema(schema);
  for (const keyword of ["x-from", "x-lane", "x-section", "x-feature", "x-emit-null", "x-error-code", "x-enum-varnames"]) ajv.addKeyword(keyword);
  const tags = new Map<string, string>();
  for (const [file, schema] of schemas()) {
    if (file.startsWith("frames/")) tags.set((schema["properties"] as { type: { const: string } }).type.const, file);
  }

  /** Judges a frame by the schema of the type that it names, as the Go test does. */
  function accepts(file: string, text: string): boolean {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return false;
    }
    if (file.startsWith("frames/")) {
      const tag = typeof value === "object" && value !== null ? (value as { type?: unknown }).type : undefined;
      file = tags.get(tag as string) ?? "";
      if (file === "") return false;
    }
    const validate = ajv.getSchema(`https://github.com/vancetope/transfer/schema/${file}`);
    if (validate === undefined) throw new Error(`ajv has no schema ${file}`);
    return validate(value) as boolean;
  }

  it("agrees, but for what the table of differences proves; and the table holds nothing else", { timeout: 600_000 }, () => {
    const uses = differences.map(() => 0);
    const unexplained: string[] = [];
    for (const instance of all) {
      const text = expand(instance.text);
      const ajvAccepts = accepts(instance.schema, text);
      if (ajvAccepts === instance.ok) continue;
      const i = differences.findIndex((d) => d.accepts === (ajvAccepts ? "ajv" : "ours") && d.proves(instance, text));
      if (i < 0) unexplained.push(`${instance.schema}: ${instance.text.slice(0, 300)}\n  ajv ${ajvAccepts ? "accepts" : "refuses"} it; ours: ${instance.reason ?? "accepts"} at ${instance.place}`);
      else uses[i] = (uses[i] ?? 0) + 1;
    }
    expect(unexplained.slice(0, 10).join("\n"), `${unexplained.length} differences are not in ajv-differences.ts`).toBe("");
    const idle = differences.filter((_, i) => uses[i] === 0).map((d) => d.why);
    expect(idle, "entries of ajv-differences.ts that nothing needs").toEqual([]);
    const grown = differences.filter((d, i) => (uses[i] ?? 0) * 1000 > d.most * all.length).map((d) => d.why);
    expect(grown, `entries of ajv-differences.ts that explain more than their share of ${all.length} instances`).toEqual([]);
    console.log(`ajv: ${all.length} instances, ${uses.reduce((a, b) => a + b)} differences:\n${differences.map((d, i) => `${uses[i]} ${d.why}`).join("\n")}`);
  });

  it("agrees on the vectors, but for those that say why not", () => {
    for (const file of vectorFiles()) {
      if (file.schema === undefined) continue;
      for (const vector of file.valid ?? []) expect(accepts(file.schema, textOf(vector)), `${file.name}: ${vector.name}`).toBe(true);
      for (const vector of file.invalid) {
        const stricter = vector.stricter !== undefined || lost.has(vector.name);
        expect(accepts(file.schema, textOf(vector)), `${file.name}: ${vector.name}`).toBe(stricter);
      }
    }
  });
});

// Invalid vectors that JSON.parse makes valid for ajv: it rounds, and it nests without end.
const lost = new Set(["a number that rounds to the largest", "an unknown member, nested one deeper"]);
