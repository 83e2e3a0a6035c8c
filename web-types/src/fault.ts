// What is wrong with a message. Written by hand.
import type { ErrorCode } from "./common.js";

/** A broken rule: a keyword of JSON Schema, or one of five that no schema states. */
export type Rule =
  | "type" | "required" | "const" | "enum" | "not" | "minLength" | "maxLength" | "pattern" | "format" | "contentEncoding" | "anyOf"
  | "minimum" | "maximum" | "minItems" | "maxItems"
  | "null" | "unknown" | "duplicate" | "syntax" | "numberForm";

/** Which error code the schema gives to which broken rule; "*" is any. */
export type Codes = { readonly [rule in Rule | "*"]?: ErrorCode };

/** One broken rule, and where. It is returned, never thrown. */
export class Fault {
  place = "";
  code: ErrorCode | undefined;

  constructor(
    readonly rule: Rule,
    public reason: string,
  ) {}

  /** Puts a member's name or an item's index before the place. */
  at(token: string | number): this {
    this.place = `/${typeof token === "number" ? token : escaped(token)}${this.place}`;
    return this;
  }

  /** Gives the schema's code, unless something further in has given one. */
  coded(codes: Codes | undefined): this {
    this.code ??= (this.place === "" ? codes?.[this.rule] : undefined) ?? codes?.["*"];
    return this;
  }
}

const printable = /^[!#-.0-[\]-}]{0,64}$/;
const short: Record<string, string> = { "\x07": "a", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v", '"': '"', "\\": "\\" };

/** Names may come from a peer: they are cut and made printable ASCII. */
function escaped(name: string): string {
  if (printable.test(name)) return name;
  const all = [...name];
  return all.slice(0, 64).map(escapedCharacter).join("") + (all.length > 64 ? "..." : "");
}

function escapedCharacter(c: string): string {
  const point = c.codePointAt(0) as number;
  const hex = (digits: number): string => point.toString(16).padStart(digits, "0");
  if (c === "~") return "~0";
  if (c === "/") return "~1";
  if (c in short) return `\\${short[c]}`;
  if (point >= 0x20 && point < 0x7f) return c;
  return point < 0x80 ? `\\x${hex(2)}` : point < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`;
}
