// The package as its users see it. Everything it exports is generated.
export * from "./common.js";
export * from "./frames.js";
export * from "./guards.js";
export * from "./tools.js";
export * from "./api.js";
