// The package as others get it: packed, installed into a fresh project, compiled
// and run there; and how large it is.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packageFolder } from "./support.js";

const folder = mkdtempSync(join(tmpdir(), "vancetope-protocol-"));
const project = join(folder, "project");
let packed: { filename: string; files: { path: string }[] };

// npm reads nothing but the folder it is given: no registry is asked.
function npm(cwd: string, ...args: string[]): string {
  return execFileSync("npm", [...args, "--offline", "--no-audit", "--no-fund", "--loglevel=error"], { cwd, encoding: "utf8", shell: process.platform === "win32" });
}

function tsc(...args: string[]): { status: number | null; output: string } {
  const run = spawnSync(process.execPath, [join(packageFolder, "node_modules/typescript/bin/tsc"), ...args], { cwd: project, encoding: "utf8" });
  return { status: run.status, output: run.stdout + run.stderr };
}

beforeAll(() => {
  // A copy, so that no other test meets half-written files in dist.
  const copy = join(folder, "copy");
  mkdirSync(copy);
  for (const name of ["package.json", "README.md", "src", "tsconfig.json", "tsconfig.build.json"]) cpSync(join(packageFolder, name), join(copy, name), { recursive: true });
  execFileSync(process.execPath, [join(packageFolder, "node_modules/typescript/bin/tsc"), "-p", copy + "/tsconfig.build.json", "--typeRoots", join(packageFolder, "node_modules/@types")]);
  packed = JSON.parse(npm(copy, "pack", "--ignore-scripts", "--json", "--pack-destination", folder))[0];
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }));
  npm(project, "install", "--ignore-scripts", join(folder, packed.filename));
  cpSync(join(packageFolder, "test/consumer.ts"), join(project, "consumer.ts"));
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true }));

describe("the packed package", () => {
  it("holds the built files, the README and nothing else", () => {
    const unexpected = packed.files.map((file) => file.path).filter((path) => !/^(dist\/[a-z]+\.(js|d\.ts)|package\.json|README\.md|LICENSE)$/.test(path));
    expect(unexpected).toEqual([]);
    expect(packed.files.map((file) => file.path)).toEqual(expect.arrayContaining(["dist/index.js", "dist/index.d.ts", "README.md"]));
  });

  it("brings no other package along", () => {
    const manifest = JSON.parse(readFileSync(join(project, "node_modules/@vancetope/protocol/package.json"), "utf8"));
    expect(manifest.dependencies ?? {}).toEqual({});
    expect(manifest.peerDependencies ?? {}).toEqual({});
  });

  it.each([["NodeNext", "NodeNext"], ["ESNext", "Bundler"]])("compiles in a fresh strict project, module %s, resolution %s, and runs", (module, moduleResolution) => {
    const compilerOptions = {
      target: "ES2022", lib: ["ES2022"], types: [], module, moduleResolution, strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true,
      noPropertyAccessFromIndexSignature: true, skipLibCheck: false, outDir: "out",
    };
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["consumer.ts"] }));
    expect(tsc("-p", ".")).toEqual({ status: 0, output: "" });
    const run = spawnSync(process.execPath, ["out/consumer.js"], { cwd: project, encoding: "utf8" });
    expect(run.stderr).toBe("");
    expect(run.stdout).toBe("chunk 0\nrefused malformed_chunk at /bytes: must be standard base64 with padding and without line breaks\n");
  }, 60_000);
});

describe("the size", () => {
  async function sizeOf(source: string): Promise<number> {
    const bundle = await build({ stdin: { contents: source, resolveDir: packageFolder }, bundle: true, minify: true, format: "esm", write: false });
    return gzipSync(bundle.outputFiles[0]?.contents ?? new Uint8Array(), { level: 9 }).length;
  }

  it("of everything is below 10 kB with gzip, and the README tells it", async () => {
    const everything = await sizeOf('export * from "./src/index.ts"');
    const frames = await sizeOf('export { parseFrame, dispatch } from "./src/index.ts"');
    expect(everything).toBeGreaterThan(1_000);
    expect(everything).toBeLessThan(10_000);
    expect(frames).toBeLessThan(everything);
    const told = /everything ([0-9.]+) kB, `parseFrame` and `dispatch` alone ([0-9.]+) kB/.exec(readFileSync(join(packageFolder, "README.md"), "utf8"));
    for (const [i, size] of [everything, frames].entries()) {
      const stated = Number(told?.[i + 1]) * 1_000;
      expect(Math.abs(stated - size) / size, `README.md says ${stated} bytes, it is ${size}; state it within a tenth`).toBeLessThan(0.1);
    }
  });
});
