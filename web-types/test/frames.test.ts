import { describe, expect, it } from "vitest";
import { isFrame, type Frame, type FrameOf, type FrameType, type Handlers } from "../src/index.js";

const id = "0198c0de-0000-7000-8000-000000000001";

const chunk: FrameOf<"transfer_chunk"> = {
  type: "transfer_chunk",
  transferId: id,
  seq: 0,
  bytes: "aGVsbG8=",
  last: true,
};

// A switch over the tag narrows to the one frame, and the compiler knows when
// every frame was handled: in the default nothing is left.
function summary(frame: Frame): string {
  switch (frame.type) {
    case "hello":
      return `${frame.clientVersion} on ${frame.os}`;
    case "welcome":
      return `${frame.tenant}/${frame.projectId} in chunks of ${frame.settings.chunkSize}`;
    case "error":
      return `${frame.code}: ${frame.message}`;
    case "client.file.upload.request":
      return `${frame.localPath} to ${frame.dirName}/${frame.remotePath}`;
    case "transfer_init":
      return `${frame.target}, ${frame.totalSize} bytes, ${frame.hash ?? "no hash"}`;
    case "transfer_init_response":
      return frame.ok ? "accepted" : (frame.error ?? "refused");
    case "transfer_chunk":
      return `#${frame.seq}${frame.last ? ", the last" : ""}`;
    case "transfer_complete":
      return `${frame.bytesWritten} bytes, hash ${frame.hashCheck ?? "unchecked"}`;
    case "transfer_finish":
      return frame.ok ? "done" : (frame.error ?? "given up");
    case "transfer_progress":
      return `${frame.state}: ${frame.bytes} of ${frame.totalBytes} bytes`;
    case "transfer_cancel":
      return `cancelled: ${frame.reason}`;
    default: {
      const nothing: never = frame;
      return nothing;
    }
  }
}

describe("the Frame union", () => {
  it("narrows by its tag", () => {
    expect(summary(chunk)).toBe("#0, the last");
  });

  it("narrows through the guard", () => {
    const frame: Frame = chunk;
    expect(isFrame(frame, "transfer_chunk") && frame.seq).toBe(0);
    expect(isFrame(frame, "hello")).toBe(false);
  });

  it("has a handler map that must name every frame", () => {
    const seen: FrameType[] = [];
    const note = (frame: Frame): void => void seen.push(frame.type);
    const handlers: Handlers = {
      hello: note,
      welcome: note,
      error: note,
      "client.file.upload.request": note,
      transfer_init: note,
      transfer_init_response: note,
      transfer_chunk: (frame) => note({ ...frame, seq: frame.seq + 1 }),
      transfer_complete: note,
      transfer_finish: note,
      transfer_progress: note,
      transfer_cancel: note,
    };
    handlers.transfer_chunk(chunk);
    expect(seen).toEqual(["transfer_chunk"]);
  });
});

// What must not compile; each line fails `npm run check` when it does.
export function rejected(frame: Frame): void {
  // @ts-expect-error a misspelt tag
  const misspelt: FrameType = "transfer_chnk";
  // @ts-expect-error a misspelt tag in a comparison can never be true
  if (frame.type === "transfer_chnk") return;
  // @ts-expect-error a misspelt tag at the guard
  isFrame(frame, "transfer_chnk");
  // @ts-expect-error a frame without one of its members
  const short: FrameOf<"transfer_chunk"> = { type: "transfer_chunk", transferId: id, seq: 0, bytes: "" };
  // @ts-expect-error null where the protocol has none
  const nothing: FrameOf<"transfer_chunk"> = { ...chunk, last: null };
  // @ts-expect-error undefined where a member is only absent or a string
  const undef: FrameOf<"transfer_finish"> = { type: "transfer_finish", transferId: id, ok: true, error: undefined };
  // @ts-expect-error an error code that does not exist
  const code: FrameOf<"error"> = { type: "error", code: "no_such_code", message: "" };
  // @ts-expect-error a handler map with a frame missing
  const handlers: Handlers = { hello: () => undefined };
  // @ts-expect-error a member of another frame before narrowing
  void frame.seq;
  void [misspelt, short, nothing, undef, code, handlers];
}
