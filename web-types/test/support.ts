// What several tests need: where things are, the schemas, the vectors, and the
// instances with the verdicts of the Go decoders.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isToolName, parseBody, parseFrame, parseToolInput, parseToolOutput, type Bodies, type FrameError } from "../src/index.js";

export const packageFolder = fileURLToPath(new URL("..", import.meta.url));
export const repository = join(packageFolder, "..");
export const schemaFolder = join(repository, "schema");

let read: Map<string, Record<string, unknown>> | undefined;

/** All schema files by their path below schema/. */
export function schemas(): Map<string, Record<string, unknown>> {
  return (read ??= readSchemas());
}

function readSchemas(): Map<string, Record<string, unknown>> {
  const found = new Map<string, Record<string, unknown>>();
  for (const name of readdirSync(schemaFolder, { recursive: true, encoding: "utf8" })) {
    if (name.endsWith(".schema.json")) found.set(name.replaceAll("\\", "/"), JSON.parse(readFileSync(join(schemaFolder, name), "utf8")));
  }
  return found;
}

export interface Vector {
  name: string;
  features?: string[];
  message?: unknown;
  text?: string;
  place?: string;
  rule?: string;
  code?: string;
  stricter?: string;
}

export interface VectorFile {
  name: string;
  schema?: string;
  to?: ("brain" | "foot")[];
  valid?: Vector[];
  invalid: Vector[];
}

export function vectorFiles(): VectorFile[] {
  const folder = join(schemaFolder, "vectors");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".json"));
  return names.sort().map((name) => ({ ...JSON.parse(readFileSync(join(folder, name), "utf8")), name: name.replaceAll("\\", "/") }));
}

/** Writes out repetitions: <<ab*3>> is ababab. */
export function expand(text: string): string {
  return text.replace(/<<(.+?)\*([0-9]{1,7})>>/gsu, (_, repeated: string, times: string) => repeated.repeat(Number(times)));
}

export function textOf(vector: Vector): string {
  return expand(vector.text ?? JSON.stringify(vector.message));
}

/** What our reader says of a message, in the same form for all kinds. */
export type Verdict = { ok: true; value: unknown } | { ok: false; error: FrameError };

/** Reads a message by the schema file it belongs to. */
export function parseBySchema(file: string | undefined, message: unknown, features: string[] = [], role?: "brain" | "foot"): Verdict {
  const [, folder, base] = /^(frames|tools|api)\/(.*)\.schema\.json$/.exec(file ?? "frames/messages.schema.json") ?? [];
  if (folder === "frames") {
    const got = parseFrame(message, role === undefined ? { features } : { features, role });
    return got.ok ? { ok: true, value: got.frame } : got;
  }
  if (folder === "api") return parseBody(schemas().get(file ?? "")?.["title"] as keyof Bodies, message);
  const [name, side] = (base ?? "").split(".");
  if (!isToolName(name)) throw new Error(`there is no tool ${name}`);
  return side === "input" ? parseToolInput(name, message) : parseToolOutput(name, message);
}

/** A message that the comparison of the Go decoders with the schemas tries, and what Go says of it. */
export interface Instance {
  schema: string;
  kind: "frame" | "input" | "output" | "body";
  name: string;
  text: string;
  ok: boolean;
  out?: string;
  code?: string;
  place: string;
  rule?: string;
  reason?: string;
  type?: string;
  id?: string;
}

/**
 * Asks the Go side for instances: one in INSTANCES_EVERY of them, 7 unless the environment says otherwise, with INSTANCES_EDITS random
 * edits among them before that, 10,000 unless it says otherwise.
 */
export function instances(): { features: string[]; all: Instance[] } {
  const every = process.env["INSTANCES_EVERY"] ?? "7";
  const edits = process.env["INSTANCES_EDITS"] ?? "10000";
  const lines = execFileSync("go", ["run", "./tools/framegen/instances", "-every", every, "-edits", edits], {
    cwd: repository,
    encoding: "utf8",
    maxBuffer: 1 << 29,
  }).split("\n");
  const { features } = JSON.parse(lines[0] ?? "") as { features: string[] };
  return { features, all: lines.slice(1).filter((line) => line !== "").map((line) => JSON.parse(line) as Instance) };
}
