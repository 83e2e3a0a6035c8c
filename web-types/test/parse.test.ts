import { describe, expect, it } from "vitest";
import { dispatch, isToolName, isTransferID, parseBody, parseFrame, parseToolInput, parseToolOutput, type FrameToFoot, type Handlers } from "../src/index.js";
import { Fault } from "../src/fault.js";

const id = "01989f2e-7c1a-7b5e-9d3f-2a4b6c8d0e1f";
const chunk = { type: "transfer_chunk", transferId: id, seq: 0, bytes: "aGVsbG8=", last: true };
const init = { type: "transfer_init", transferId: id, target: "a.txt", totalSize: 5, hash: `sha256:${"0f".repeat(32)}` };

function errorOf(message: unknown) {
  const got = parseFrame(message);
  return got.ok ? undefined : got.error;
}

describe("parseFrame", () => {
  it("gives a frame from a text and from a parsed value alike", () => {
    expect(parseFrame(JSON.stringify(chunk))).toEqual({ ok: true, frame: chunk });
    expect(parseFrame(chunk)).toEqual({ ok: true, frame: chunk });
  });

  it("gives a new object with the members of the schema and nothing else", () => {
    const got = parseFrame(`{"type":"transfer_init","transferId":"${id}","target":"a","totalSize":1e0,"hash":"${init.hash}","x":1,"__proto__":{"polluted":1},"constructor":2,"attrs":{"mode":"0644","__proto__":{"mtime":"x"}}}`);
    if (!got.ok) throw new Error(got.error.reason);
    expect(Object.keys(got.frame)).toEqual(["type", "transferId", "target", "totalSize", "hash", "attrs"]);
    expect(got.frame).toEqual({ ...init, target: "a", totalSize: 1, attrs: { mode: "0644" } });
    expect(Object.getPrototypeOf(got.frame)).toBe(Object.prototype);
    expect("polluted" in {}).toBe(false);
  });

  it("does not take members from a prototype", () => {
    const inherited = Object.create(chunk) as object;
    expect(errorOf(inherited)).toMatchObject({ place: "/type", rule: "required" });
    expect(errorOf(JSON.parse(`{"__proto__":${JSON.stringify(chunk)}}`))).toMatchObject({ place: "/type", rule: "required" });
  });

  it("reads members that may be left out as null where the schema says so", () => {
    const got = parseFrame({ type: "transfer_complete", transferId: id, ok: true, bytesWritten: 5 });
    expect(got).toEqual({ ok: true, frame: { type: "transfer_complete", transferId: id, ok: true, error: null, bytesWritten: 5, hashCheck: null } });
  });

  it("tells type and transferId of a frame that is wrong elsewhere, wherever they stand", () => {
    expect(errorOf(`{"last":1,"transferId":"${id}","type":"transfer_chunk"}`)).toEqual({
      code: "invalid_frame", place: "/last", rule: "type", reason: "must be true or false", type: "transfer_chunk", transferId: id,
    });
    expect(errorOf(`{"type":"nothing","transferId":"${id}"}`)).toEqual({
      code: "unknown_type", place: "/type", rule: "type", reason: "is not a known type", transferId: id,
    });
    expect(errorOf({ ...chunk, transferId: "00000000-0000-0000-0000-000000000000" })).not.toHaveProperty("transferId");
  });

  it("tells nothing of a frame with a member that stands twice", () => {
    const error = errorOf(`{"type":"transfer_chunk","transferId":"${id}","transferId":"${id}","seq":0,"bytes":"","last":true}`);
    expect(error).toEqual({ code: "invalid_frame", place: "", rule: "duplicate", reason: "a member stands twice" });
  });

  it("goes by the role and its features", () => {
    const cancel = { type: "transfer_cancel", transferId: id, reason: "" };
    expect(parseFrame(cancel, { role: "foot" })).toMatchObject({ ok: false, error: { code: "unexpected_frame" } });
    expect(parseFrame(cancel, { role: "foot", features: ["progress", "cancel"] })).toMatchObject({ ok: true });
    expect(parseFrame({ ...init, hash: null })).toMatchObject({ ok: false, error: { code: "hash_required" } });
    expect(parseFrame({ ...init, hash: null }, { features: ["trailing-hash"] })).toMatchObject({ ok: true, frame: { hash: null } });
    const hello = { type: "hello", protocolVersion: 1, footId: "", clientVersion: "1", os: "linux", access: "read", grants: [], features: [] };
    expect(parseFrame(hello, { role: "brain" })).toMatchObject({ ok: true });
    expect(parseFrame(hello, { role: "foot" })).toMatchObject({ ok: false, error: { code: "unexpected_frame", place: "/type" } });
  });

  it("leaves out a member of a feature that is not in force, whatever it holds", () => {
    const got = parseFrame({ ...init, onExisting: 7 });
    expect(got).toEqual({ ok: true, frame: init });
    expect(parseFrame({ ...init, onExisting: 7 }, { features: ["on-existing"] })).toMatchObject({ ok: false, error: { place: "/onExisting" } });
  });

  it("never throws, whatever it is given", () => {
    const cyclic: Record<string, unknown> = { ...chunk };
    cyclic["self"] = cyclic;
    const values = [undefined, null, true, 1, NaN, 1n, "", "\u0000", [], [[]], {}, () => 1, Symbol("x"), new Date(), new Uint8Array(9), new Map(), Object.create(null), chunk.bytes,
      { ...chunk, seq: NaN }, { ...chunk, seq: Infinity }, { ...chunk, seq: 1n }, { ...chunk, seq: undefined }, { ...chunk, bytes: new String("AAAA") }, { ...chunk, last: new Boolean(true) },
      "[".repeat(1e6), '{"a":'.repeat(1e6), `{"type":"${"\\\\".repeat(1e5)}`, `"${"\\".repeat(1e5 + 1)}"`, "9".repeat(1e6), `{"type":"transfer_chunk","seq":${"9".repeat(1e6)}}`, `{"type":"error","code":"internal","message":"${"😀".repeat(1e5)}"}`];
    for (const value of values) expect(parseFrame(value)).toMatchObject({ ok: false });
    expect(parseFrame(cyclic)).toMatchObject({ ok: true });
  });

  it("is as strict with a parsed value as it can be", () => {
    expect(parseFrame({ ...chunk, seq: -0 })).toEqual({ ok: true, frame: { ...chunk, seq: 0 } });
    expect(errorOf({ ...chunk, seq: 2 ** 53 })).toMatchObject({ place: "/seq", rule: "maximum" });
    expect(errorOf({ ...chunk, seq: 0.5 })).toMatchObject({ place: "/seq", rule: "type" });
    expect(errorOf({ ...init, target: "a\ud800" })).toMatchObject({ place: "/target", rule: "syntax" });
    expect(errorOf(`${JSON.stringify(chunk).slice(0, -1)},"x":"a${"\ud800"}"}`)).toMatchObject({ place: "", rule: "syntax" });
  });

  it("reads nesting as deep as the Go side does, and no deeper", () => {
    const nested = (n: number) => `{"type":"transfer_chunk","transferId":"${id}","seq":0,"bytes":"","last":true,"x":${"[".repeat(n)}${"]".repeat(n)}}`;
    expect(parseFrame(nested(9_999))).toMatchObject({ ok: true });
    expect(errorOf(nested(10_000))).toMatchObject({ rule: "syntax" });
  });

  it("takes time in proportion to the length of a hostile text", () => {
    const members = Array.from({ length: 100_000 }, (_, i) => `"k${i}":0`).join(",");
    const start = performance.now();
    expect(errorOf(`{${members}}`)).toMatchObject({ place: "/type", rule: "required" });
    expect(errorOf(`{"type":"transfer_chunk","bytes":"${'\\"'.repeat(500_000)}"}`)).toMatchObject({ place: "/bytes" });
    expect(errorOf(`{"type":"transfer_chunk","bytes":"${"\\\\".repeat(500_000)}"}`)).toMatchObject({ place: "/bytes" });
    expect(performance.now() - start).toBeLessThan(5_000);
  });

  it("never repeats a peer's text unescaped", () => {
    const got = parseToolInput("client_list", { "\u001b[2J/~\u202e": 1 });
    expect(got).toMatchObject({ ok: false, error: { place: "/\\x1b[2J~1~0\\u202e", reason: "is not a known member" } });
    const long = parseToolInput("client_list", { ["x".repeat(1000)]: 1 });
    expect(long).toMatchObject({ ok: false, error: { place: `/${"x".repeat(64)}...` } });
  });
});

describe("a fault", () => {
  it("gets the code of its own place, not that of the same rule further in", () => {
    const codes = { maxLength: "invalid_path" } as const;
    expect(new Fault("maxLength", "").coded(codes).code).toBe("invalid_path");
    expect(new Fault("maxLength", "").at("name").coded(codes).code).toBeUndefined();
    expect(new Fault("maxLength", "").at("name").coded({ "*": "size_limit" }).code).toBe("size_limit");
  });

  it("says that null would do too", () => {
    const got = parseFrame({ type: "transfer_complete", transferId: id, ok: true, bytesWritten: 5, error: 1 });
    expect(got).toMatchObject({ ok: false, error: { place: "/error", reason: "must be a string or null" } });
  });
});

describe("dispatch", () => {
  it("calls the function for the frame's type and returns what it returns", () => {
    const seen = (frame: { type: string }): string => frame.type;
    const handlers: Handlers<FrameToFoot, string> = {
      error: seen, welcome: (frame) => frame.tenant, "client.file.upload.request": seen, transfer_init: (frame) => frame.target, transfer_init_response: seen,
      transfer_chunk: (frame) => String(frame.seq), transfer_complete: seen, transfer_finish: seen, transfer_progress: seen, transfer_cancel: seen,
    };
    const got = parseFrame(chunk, { role: "foot" });
    if (!got.ok) throw new Error(got.error.reason);
    expect(dispatch(got.frame, handlers)).toBe("0");
  });
});

describe("tools and bodies", () => {
  it("are read by name", () => {
    expect(parseToolInput("client_list", "{}")).toEqual({ ok: true, value: {} });
    expect(parseToolOutput("client_list", { ok: false })).toEqual({ ok: true, value: { ok: false, error: null } });
    expect(parseToolOutput("client_list", { ok: true })).toMatchObject({ ok: false, error: { code: "invalid_request", place: "/feet", rule: "required" } });
    expect(parseBody("DirsResponse", { dirs: [] })).toEqual({ ok: true, value: { dirs: [] } });
    expect(parseBody("DirsResponse", "{}")).toMatchObject({ ok: false, error: { code: "invalid_request", place: "/dirs" } });
  });

  it("have names that can be told from others", () => {
    expect(["client_list", "toString", "__proto__", "", 1].map(isToolName)).toEqual([true, false, false, false, false]);
    expect([id, id.toUpperCase(), "ffffffff-ffff-ffff-ffff-ffffffffffff", 1].map(isTransferID)).toEqual([true, false, false, false]);
  });
});

// What must not compile; each line fails `npm run check` when it does.
export function rejected(message: unknown): void {
  const got = parseFrame(message);
  // @ts-expect-error a frame without a look at ok
  void got.frame;
  // @ts-expect-error an error where all went well
  if (got.ok) void got.error;
  const foot = parseFrame(message, { role: "foot" });
  // @ts-expect-error hello does not go to a Foot
  if (foot.ok && foot.frame.type === "hello") return;
  // @ts-expect-error a role that is none
  parseFrame(message, { role: "feet" });
  // @ts-expect-error handlers of one role for frames of both
  if (got.ok) dispatch(got.frame, {} as Handlers<FrameToFoot>);
  // @ts-expect-error a tool that does not exist
  parseToolInput("client_lsit", message);
  const tool = parseToolInput("client_file_upload", message);
  // @ts-expect-error a member of another tool
  if (tool.ok) void tool.value.transferId;
}
