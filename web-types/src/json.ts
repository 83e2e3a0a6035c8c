// Reads JSON as strictly as the Go side does. JSON.parse cannot: it keeps the
// last of two members of one name, rounds numbers, and lets half a surrogate
// pair through. Written by hand; it knows nothing of any message.
import { Fault } from "./fault.js";

/** A number that is not spelt as every encoder spells it; its value is for who wants it. */
export class Numeral {
  constructor(readonly literal: string) {}
}

/** What a text holds: objects are maps, so that no name means anything to them. */
export type Scanned = null | boolean | string | number | Numeral | Scanned[] | Map<string, Scanned>;

/** The deepest nesting that the Go side reads. */
const deepest = 10_000;

const space = /[ \t\r\n]*/y;
const numeral = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const plain = /^-?[0-9]{1,15}$/;
// eslint-disable-next-line no-control-regex
const control = /[\u0000-\u001f]/;
// With the flag u a pair is one character, so this finds halves only.
const half = /[\ud800-\udfff]/u;

/** Tells whether a string has no half of a surrogate pair: whether UTF-8 can hold it. */
export function isWellFormed(text: string): boolean {
  return !half.test(text);
}

/** Reads one JSON value. It returns a Fault where the text is no I-JSON (RFC 7493). */
export function scan(text: string): Scanned | Fault {
  return isWellFormed(text) ? new Scanner(text).whole() : broken();
}

function broken(): Fault {
  return new Fault("syntax", "is not valid JSON (I-JSON)");
}

/** An array or object that is not closed yet; name is that of the member being read. */
type Open = { list: Scanned[]; map?: never } | { map: Map<string, Scanned>; name: string; list?: never };

class Scanner {
  private at = 0;
  private readonly open: Open[] = [];

  constructor(private readonly text: string) {}

  /** Goes through the text without recursion, since a hostile one nests as deep as it is long. */
  whole(): Scanned | Fault {
    for (;;) {
      let value = this.begin();
      if (value === undefined) continue; // something opened that is not empty
      for (;;) {
        if (value instanceof Fault) return value;
        const into = this.open.at(-1);
        if (into === undefined) return this.peek() === "" ? value : broken();
        if (into.list) into.list.push(value);
        else into.map.set(into.name, value);
        const next = this.peek();
        this.at++;
        if (next === ",") {
          const fault = into.list ? undefined : this.member(into);
          if (fault) return fault;
          break;
        }
        if (next !== (into.list ? "]" : "}")) return broken();
        value = this.close();
      }
    }
  }

  /** Reads a scalar or an empty container, or opens one and returns undefined. */
  private begin(): Scanned | Fault | undefined {
    const first = this.peek();
    if (first !== "{" && first !== "[") return this.scalar(first);
    if (this.open.length === deepest) return broken();
    this.at++;
    const into: Open = first === "[" ? { list: [] } : { map: new Map(), name: "" };
    this.open.push(into);
    if (this.peek() === (into.list ? "]" : "}")) {
      this.at++;
      return this.close();
    }
    return into.list ? undefined : this.member(into);
  }

  private close(): Scanned {
    const done = this.open.pop() as Open;
    return done.list ?? done.map;
  }

  /** Reads a member's name and the colon. */
  private member(into: { map: Map<string, Scanned>; name: string }): Fault | undefined {
    const name = this.peek() === '"' ? this.string() : broken();
    if (name instanceof Fault) return name;
    if (into.map.has(name)) return new Fault("duplicate", "a member stands twice");
    into.name = name;
    if (this.peek() !== ":") return broken();
    this.at++;
    return undefined;
  }

  /** The next character that is no white space, "" at the end. */
  private peek(): string {
    space.lastIndex = this.at;
    space.test(this.text);
    this.at = space.lastIndex;
    return this.text.charAt(this.at);
  }

  private scalar(first: string): Scanned | Fault {
    if (first === '"') return this.string();
    for (const [word, value] of [["true", true], ["false", false], ["null", null]] as const) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    numeral.lastIndex = this.at;
    const literal = numeral.exec(this.text)?.[0];
    if (literal === undefined) return broken();
    this.at += literal.length;
    return plain.test(literal) ? Number(literal) + 0 : new Numeral(literal);
  }

  private string(): string | Fault {
    const start = this.at + 1;
    let end = start - 1;
    do {
      end = this.text.indexOf('"', end + 1);
      if (end < 0) return broken();
    } while (this.escaped(end));
    this.at = end + 1;
    const raw = this.text.slice(start, end);
    if (control.test(raw)) return broken();
    return raw.includes("\\") ? unescape(raw) : raw;
  }

  /** Tells whether an odd number of backslashes stands before a quote. */
  private escaped(quote: number): boolean {
    let from = quote;
    while (this.text.charAt(from - 1) === "\\") from--;
    return (quote - from) % 2 === 1;
  }
}

/** The built-in parser is as strict as RFC 8259 on escapes; halves of pairs it passes over. */
function unescape(raw: string): string | Fault {
  try {
    const text = JSON.parse(`"${raw}"`) as string;
    return isWellFormed(text) ? text : broken();
  } catch {
    return broken();
  }
}
