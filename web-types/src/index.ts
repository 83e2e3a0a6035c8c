// The package as its users see it. The types and what reads untrusted JSON by
// them are generated; fault.ts, json.ts and read.ts are what all schemas share.
export * from "./common.js";
export * from "./frames.js";
export * from "./guards.js";
export * from "./tools.js";
export * from "./api.js";
export * from "./parse.js";
export type { Rule } from "./fault.js";
