// Reads a message by what its schema says. Written by hand; shapes.ts, which it
// goes by, is generated.
import { Fault, type Codes } from "./fault.js";
import { isWellFormed, Numeral } from "./json.js";

/** A schema as data. */
export type Shape =
  | { readonly kind: "boolean" | "uuid" | "time"; readonly not?: readonly string[] }
  | { readonly kind: "integer"; readonly least: number; readonly most: number }
  | { readonly kind: "text"; readonly least?: number; readonly most: number; readonly pattern?: string; readonly not?: readonly string[] }
  | { readonly kind: "base64"; readonly most: number; readonly bytes: number }
  | { readonly kind: "enum"; readonly name: string; readonly values: readonly string[] }
  | { readonly kind: "const"; readonly value: string }
  | { readonly kind: "array"; readonly least?: number; readonly most: number; readonly items: Shape; readonly codes?: Codes }
  | ObjectShape;

/** The schema of an object. */
export interface ObjectShape {
  readonly kind: "object";
  /** Refuses members that it does not have. */
  readonly closed?: true;
  readonly fields: readonly Field[];
  /** Where the member has the value, the others are required. */
  readonly when?: { readonly member: string; readonly is: boolean; readonly required: readonly string[] };
}

/** A member of an object. */
export interface Field {
  readonly name: string;
  readonly shape: Shape;
  readonly required?: true;
  readonly nullable?: true;
  /** Absent reads as null. */
  readonly absentIsNull?: true;
  /** Only this feature allows null. */
  readonly nullFeature?: string;
  /** Without this feature the member is one that is not known. */
  readonly feature?: string;
  readonly codes?: Codes;
}

type Features = readonly string[];

/** Reads a value from JSON, or a plain one such as JSON.parse makes, into a new one of known members only. */
export function read(shape: Shape, value: unknown, features: Features): unknown {
  switch (shape.kind) {
    case "object":
      return readObject(shape, value, features);
    case "array":
      return readArray(shape, value, features);
    case "integer":
      return readInteger(shape, value);
    case "boolean":
      return typeof value === "boolean" ? value : wrong("true or false");
  }
  if (typeof value !== "string") return wrong("a string");
  switch (shape.kind) {
    case "uuid":
      return uuid.test(value) ? value : new Fault("format", "must be a UUID in lower-case 8-4-4-4-12");
    case "time":
      return isTime(value) ? value : new Fault("format", "must be a time like 2026-05-01T14:23:11Z: RFC 3339 in UTC, at most nine fraction digits");
    case "base64":
      return value.length > shape.most ? tooLong(shape.most) : isBase64(value) ? value : new Fault("contentEncoding", "must be standard base64 with padding and without line breaks");
    case "const":
      return value === shape.value ? value : new Fault("const", `must be "${shape.value}"`);
  }
  return value;
}

/** Tells whether a scalar follows its schema. */
export function isValid(shape: Shape, value: unknown): boolean {
  const got = read(shape, value, []);
  return !(got instanceof Fault) && check(shape, got) === undefined;
}

function wrong(kind: string): Fault {
  return new Fault("type", `must be ${kind}`);
}

function tooLong(most: number): Fault {
  return new Fault("maxLength", `must have at most ${most} characters`);
}

function tooMany(most: number): Fault {
  return new Fault("maxItems", `must have at most ${most} items`);
}

/** The members of an object, in their order; undefined for anything else. */
export function membersOf(value: unknown): Iterable<[string, unknown]> | undefined {
  if (value instanceof Map) return value as Map<string, unknown>;
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Numeral) ? Object.entries(value) : undefined;
}

function readObject(shape: ObjectShape, value: unknown, features: Features): unknown {
  const members = membersOf(value);
  if (members === undefined) return wrong("an object");
  const seen = new Set<string>();
  const got = new Map<string, unknown>();
  for (const [name, below] of members) {
    const field = shape.fields.find((f) => f.name === name);
    if (field === undefined) {
      if (shape.closed) return new Fault("unknown", "is not a known member").at(name);
      continue;
    }
    seen.add(name);
    if (field.feature !== undefined && !features.includes(field.feature)) continue;
    const member = readMember(field, below, features);
    if (member instanceof Fault) return member.coded(field.codes).at(name);
    got.set(name, member);
  }
  return missing(shape, seen, got, features) ?? brokenRule(shape, got) ?? whole(shape, got);
}

function readMember(field: Field, value: unknown, features: Features): unknown {
  if (field.nullable && value === null) {
    const allowed = field.nullFeature === undefined || features.includes(field.nullFeature);
    return allowed ? null : new Fault("null", "must not be null");
  }
  const member = read(field.shape, value, features);
  if (field.nullable && member instanceof Fault && member.rule === "type" && member.place === "") member.reason += " or null";
  return member;
}

/** What must be there, in the order of the schema. */
function missing(shape: ObjectShape, seen: Set<string>, got: Map<string, unknown>, features: Features): Fault | undefined {
  for (const field of shape.fields) {
    if (seen.has(field.name)) continue;
    const nullForbidden = field.nullFeature !== undefined && !features.includes(field.nullFeature);
    if (field.required || nullForbidden || (field.absentIsNull && isRequiredNow(shape, field.name, got))) {
      return absent(field, nullForbidden ? "null" : "required");
    }
  }
  return undefined;
}

function absent(field: Field, rule: "null" | "required"): Fault {
  const fault = new Fault("required", "is required");
  fault.code = field.codes?.[rule] ?? field.codes?.["*"];
  return fault.at(field.name);
}

function isRequiredNow(shape: ObjectShape, name: string, got: Map<string, unknown>): boolean {
  const when = shape.when;
  return when !== undefined && got.get(when.member) === when.is && when.required.includes(name);
}

/** The rules of the values, in the order of the schema; objects below have checked theirs. */
function brokenRule(shape: ObjectShape, got: Map<string, unknown>): Fault | undefined {
  for (const field of shape.fields) {
    const value = got.get(field.name);
    const fault = value === undefined || value === null ? undefined : check(field.shape, value);
    if (fault) return fault.coded(field.codes).at(field.name);
  }
  for (const field of shape.fields) {
    if (!got.has(field.name) && !field.absentIsNull && isRequiredNow(shape, field.name, got)) return absent(field, "required");
  }
  return undefined;
}

/** A new object of known members. Where null and absence mean the same, there is one of them: null if it is always sent. */
function whole(shape: ObjectShape, got: Map<string, unknown>): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const field of shape.fields) {
    const value = got.get(field.name) ?? null;
    if (value !== null || field.absentIsNull) out[field.name] = value;
  }
  return out;
}

function readArray(shape: Shape & { kind: "array" }, value: unknown, features: Features): unknown {
  if (!Array.isArray(value)) return wrong("an array");
  const out: unknown[] = [];
  for (const below of value as unknown[]) {
    if (out.length === shape.most) return tooMany(shape.most);
    const item = read(shape.items, below, features);
    if (item instanceof Fault) return item.at(out.length);
    out.push(item);
  }
  return out;
}

/** An integer may be spelt 1.0, 1e2 or -0; one spelt very long is refused unseen. */
function readInteger(shape: Shape & { kind: "integer" }, value: unknown): number | Fault {
  const n = value instanceof Numeral ? integerOf(value.literal) : typeof value === "number" && (Number.isInteger(value) ? value + 0 : undefined);
  if (typeof n !== "number") return n || wrong("an integer");
  if (n < shape.least) return new Fault("minimum", `must be at least ${shape.least}`);
  if (n > shape.most) return new Fault("maximum", `must be at most ${shape.most}`);
  return n;
}

function integerOf(literal: string): number | Fault | undefined {
  if (literal.length > 64) return new Fault("numberForm", "must be spelt in at most 64 bytes");
  const [, sign, whole, fraction, exponent] = /^(-?)([0-9]+)\.?([0-9]*)[eE]?(.*)$/.exec(literal) as unknown as [string, string, string, string, string];
  if (Math.abs(Number(exponent)) > 100) return new Fault("numberForm", "must have an exponent within 100");
  // The value is 0.DIGITS times ten to the power of point.
  const digits = (whole + fraction).replace(/^0+/, "");
  const point = digits.length - fraction.length + Number(exponent);
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return 0;
  if (point < significant.length) return undefined;
  return Number(`${sign}${significant}e${point - significant.length}`);
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const time = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?Z$/;

function isTime(text: string): boolean {
  const [year, month, day, hour, minute, second] = (time.exec(text) ?? []).slice(1).map(Number) as [number, number, number, number, number, number];
  if (year === undefined) return false;
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1];
  return days !== undefined && day >= 1 && day <= days && hour < 24 && minute < 60 && second < 60;
}

/** Standard base64, padded, no line breaks, no bits left over (RFC 4648 section 4). */
function isBase64(text: string): boolean {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const last = text.charAt(text.length - padding - 1);
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text) && (padding === 0 || (padding === 1 ? /[AEIMQUYcgkosw048]/ : /[AQgw]/).test(last));
}

/** Checks a value that was read, but for what objects in it have checked themselves. */
function check(shape: Shape, value: unknown): Fault | undefined {
  switch (shape.kind) {
    case "array":
      return checkArray(shape, value as unknown[]);
    case "base64":
      return sizeOf(value as string) > shape.bytes ? new Fault("anyOf", `must hold at most ${shape.bytes} bytes`) : undefined;
    case "uuid":
      return shape.not?.includes(value as string) ? new Fault("not", `must not be ${value as string}`) : undefined;
    case "enum":
      return shape.values.includes(value as string) ? undefined : new Fault("enum", known(shape));
    case "text":
      return checkText(shape, value as string);
  }
  return undefined;
}

function checkArray(shape: Shape & { kind: "array" }, items: unknown[]): Fault | undefined {
  if (items.length < (shape.least ?? 0)) return new Fault("minItems", `must have at least ${shape.least} items`);
  for (const [i, item] of items.entries()) {
    const fault = check(shape.items, item);
    if (fault) return fault.coded(shape.codes).at(i);
  }
  return undefined;
}

function sizeOf(base64: string): number {
  return (base64.length / 4) * 3 - (base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0);
}

function known(shape: Shape & { kind: "enum" }): string {
  return shape.values.length > 10 ? `must be a known ${shape.name}` : `must be one of ${shape.values.map(quoted).join(", ")}`;
}

function quoted(text: string): string {
  return `"${text}"`;
}

function checkText(shape: Shape & { kind: "text" }, text: string): Fault | undefined {
  if (text.length > shape.most && characters(text) > shape.most) return tooLong(shape.most);
  if (shape.least !== undefined && characters(text) < shape.least) return new Fault("minLength", `must have at least ${shape.least} characters`);
  if (!isWellFormed(text)) return new Fault("syntax", "must be valid UTF-8");
  if (shape.pattern !== undefined && !compiled(shape.pattern).test(text)) return new Fault("pattern", `must match ${shape.pattern}`);
  return shape.not?.includes(text) ? new Fault("not", `must not be ${shape.not.map(quoted).join(" or ")}`) : undefined;
}

/** Characters are code points, as in JSON Schema. */
function characters(text: string): number {
  let n = 0;
  for (let i = 0; i < text.length; n++) i += (text.codePointAt(i) as number) > 0xffff ? 2 : 1;
  return n;
}

const patterns = new Map<string, RegExp>();

function compiled(pattern: string): RegExp {
  let found = patterns.get(pattern);
  if (found === undefined) patterns.set(pattern, (found = new RegExp(pattern, "u")));
  return found;
}
