// What somebody writes who uses the package: a Foot in a browser, say.
import { dispatch, parseFrame, type Frame, type FrameToFoot, type Handlers } from "@vancetope/protocol";

declare const console: { log(line: string): void };

const ignore = (): string => "ignored";

const handlers: Handlers<FrameToFoot, string> = {
  welcome: (frame) => `welcome to ${frame.tenant}/${frame.projectId}`,
  error: (frame) => `${frame.code}: ${frame.message}`,
  "client.file.upload.request": (frame) => frame.localPath,
  transfer_init: (frame) => frame.target,
  transfer_init_response: ignore,
  transfer_chunk: (frame) => `chunk ${frame.seq}`,
  transfer_complete: (frame) => frame.error ?? "complete",
  transfer_finish: ignore,
  transfer_progress: ignore,
  transfer_cancel: (frame) => frame.reason,
};

// @ts-expect-error The compiler names the frames without a function.
export const incomplete: Handlers<FrameToFoot, string> = { ...handlers, transfer_finish: undefined };

export function receive(text: string, features: readonly string[]): string {
  const result = parseFrame(text, { role: "foot", features });
  if (!result.ok) {
    const { code, place, reason, transferId } = result.error;
    const answer: Frame = { type: "error", code, message: `invalid frame: ${place}: ${reason}`, ...(transferId === undefined ? {} : { transferId }) };
    return `refused ${answer.code} at ${place}: ${reason}`;
  }
  return dispatch(result.frame, handlers);
}

const transferId = "01989f2e-7c1a-7b5e-9d3f-2a4b6c8d0e1f";
console.log(receive(JSON.stringify({ type: "transfer_chunk", transferId, seq: 0, bytes: "aGVsbG8=", last: true }), []));
console.log(receive(JSON.stringify({ type: "transfer_chunk", transferId, seq: 1, bytes: "aGVsbG8", last: true }), []));
