// The package's one entry: everything that was generated, under one name. The
// generated files beside this one are never edited; see schema/ for their source.
export * from "./common.js";
export * from "./frames.js";
export * from "./guards.js";
export * from "./tools.js";
export * from "./api.js";
