// Where ajv, fed with JSON.parse, and the decoders of this project disagree, and
// why that is right. A difference that is not proved by one of these entries fails
// the test, and so does an entry that nothing needs any more, or that explains more
// than its share: the table can only grow on purpose.
import type { Instance } from "./support.js";

export interface Difference {
  why: string;
  /** Who accepts the message. */
  accepts: "ajv" | "ours";
  /** How many of a thousand instances it may explain. */
  most: number;
  /** Proves from the message itself, not from the verdict alone, that this is the cause. */
  proves: (instance: Instance, text: string) => boolean;
}

export const differences: Difference[] = [
  {
    why: "JSON.parse keeps the last of two members of one name, so ajv never sees the other; the protocol refuses both.",
    accepts: "ajv",
    most: 20,
    proves: (instance, text) => instance.rule === "duplicate" && JSON.stringify(JSON.parse(text)).length < JSON.stringify(everyMember(text)).length,
  },
  {
    why: "JSON.parse lets half a surrogate pair through; I-JSON (RFC 7493) has no such string.",
    accepts: "ajv",
    most: 6,
    proves: (instance, text) => instance.rule === "syntax" && /[\ud800-\udfff]/u.test(strings(JSON.parse(text))),
  },
  {
    why: "The protocol does not look at an integer spelt in more than 64 bytes or with an exponent beyond 100; to JavaScript it is a number like any other.",
    accepts: "ajv",
    most: 1,
    proves: (instance, text) => instance.rule === "numberForm" && numerals(text).some((n) => n.length > 64 || Math.abs(Number(/e(.*)/i.exec(n)?.[1] ?? 0)) > 100),
  },
  {
    why: "A double rounds the fraction away, so that ajv sees an integer where none was written.",
    accepts: "ajv",
    most: 5,
    proves: (instance, text) => instance.rule === "type" && instance.reason?.startsWith("must be an integer") === true && numerals(text).some((n) => /[.e]/i.test(n) && Number.isInteger(Number(n))),
  },
];

/** The numbers in a text, strings left out. */
function numerals(text: string): string[] {
  return text.replace(/"(?:[^"\\]|\\.)*"/gs, '""').match(/-?[0-9][0-9.eE+-]*/g) ?? [];
}

/** All names and strings of a value. */
function strings(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return "";
  return Object.entries(value).map(([name, below]) => `${name} ${strings(below)}`).join(" ");
}

/** Reads a text with its names made different, so that none is lost. */
function everyMember(text: string): unknown {
  let n = 0;
  return JSON.parse(text.replace(/"((?:[^"\\]|\\.)*)"(\s*:)/gs, (_, name: string, colon: string) => `"${name}#${n++}"${colon}`));
}
