// JSON for plugins: values, a strict parser, a writer.

/** What a Value is. */
export enum Kind { Null, Bool, Number, Text, Array, Object }

/** Levels of arrays and objects that are read; the host allows fewer. */
const MAX_DEPTH = 256;

/** A JSON value. Make one with Value.text, Value.number and so on; look into one with get, str, num, flag and items. */
export class Value {
  private flagValue: bool = false;
  private numberValue: f64 = 0;
  private textValue: string = "";
  /** The elements of an array, empty for other kinds. */
  items: Value[] = [];
  private members: Map<string, Value> | null = null;

  private constructor(readonly kind: Kind) {}

  static null(): Value { return new Value(Kind.Null); }

  static bool(v: bool): Value {
    const value = new Value(Kind.Bool);
    value.flagValue = v;
    return value;
  }

  /** NaN and the infinities, which JSON does not have, are written as null. */
  static number(v: f64): Value {
    const value = new Value(Kind.Number);
    value.numberValue = v;
    return value;
  }

  static text(v: string): Value {
    const value = new Value(Kind.Text);
    value.textValue = v;
    return value;
  }

  static array(): Value { return new Value(Kind.Array); }

  static object(): Value {
    const value = new Value(Kind.Object);
    value.members = new Map<string, Value>();
    return value;
  }

  /** Adds an element to an array. */
  push(v: Value): Value {
    this.items.push(v);
    return this;
  }

  /** Sets a member of an object. */
  set(name: string, v: Value): Value {
    const members = this.members;
    if (members) members.set(name, v);
    return this;
  }

  /** A member of an object; null if there is none, if it is null, or if this is no object. */
  get(name: string): Value | null {
    const members = this.members;
    if (!members || !members.has(name)) return null;
    const v = members.get(name);
    return v.kind == Kind.Null ? null : v;
  }

  /** The names of an object's members, in their order. */
  names(): string[] {
    const members = this.members;
    return members ? members.keys() : [];
  }

  /** A member that is text, or the fallback. */
  str(name: string, fallback: string = ""): string {
    const v = this.get(name);
    return v && v.kind == Kind.Text ? v.textValue : fallback;
  }

  /** A member that is a number, or the fallback. */
  num(name: string, fallback: f64 = 0): f64 {
    const v = this.get(name);
    return v && v.kind == Kind.Number ? v.numberValue : fallback;
  }

  /** A member that is true or false, or the fallback. */
  flag(name: string, fallback: bool = false): bool {
    const v = this.get(name);
    return v && v.kind == Kind.Bool ? v.flagValue : fallback;
  }

  /** The value itself where it is text, "" otherwise. */
  asText(): string { return this.textValue; }
  /** The value itself where it is a number, 0 otherwise. */
  asNumber(): f64 { return this.numberValue; }
  /** The value itself where it is true or false, false otherwise. */
  asBool(): bool { return this.flagValue; }

  /** The value as JSON. */
  toString(): string {
    const parts: string[] = [];
    this.write(parts);
    return parts.join("");
  }

  private write(parts: string[]): void {
    switch (this.kind) {
      case Kind.Null: parts.push("null"); break;
      case Kind.Bool: parts.push(this.flagValue ? "true" : "false"); break;
      case Kind.Number: parts.push(numberText(this.numberValue)); break;
      case Kind.Text: quote(this.textValue, parts); break;
      case Kind.Array: {
        parts.push("[");
        for (let i = 0; i < this.items.length; i++) {
          if (i > 0) parts.push(",");
          this.items[i].write(parts);
        }
        parts.push("]");
        break;
      }
      default: {
        const members = this.members!;
        const names = members.keys();
        parts.push("{");
        for (let i = 0; i < names.length; i++) {
          if (i > 0) parts.push(",");
          quote(names[i], parts);
          parts.push(":");
          members.get(names[i]).write(parts);
        }
        parts.push("}");
      }
    }
  }

  /** Reads JSON, null if the text is none. */
  static parse(text: string): Value | null {
    const p = new Parser(text);
    const v = p.value(0);
    p.space();
    return p.bad || p.pos != text.length ? null : v;
  }
}

function numberText(v: f64): string {
  if (!isFinite(v)) return "null";
  if (Math.trunc(v) == v && Math.abs(v) < 9007199254740992) return (<i64>v).toString();
  return v.toString();
}

const HEX = "0123456789abcdef";

function quote(s: string, parts: string[]): void {
  parts.push('"');
  let start = 0;
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c >= 0x20 && c != 0x22 && c != 0x5c && !loneAt(s, i, c)) continue;
    if (i > start) parts.push(s.substring(start, i));
    start = i + 1;
    switch (c) {
      case 0x22: parts.push('\\"'); break;
      case 0x5c: parts.push("\\\\"); break;
      case 0x0a: parts.push("\\n"); break;
      case 0x0d: parts.push("\\r"); break;
      case 0x09: parts.push("\\t"); break;
      default:
        parts.push(c >= 0x20 ? "\ufffd" : "\\u00" + HEX.charAt(c >> 4) + HEX.charAt(c & 15));
    }
  }
  if (start < s.length) parts.push(start == 0 ? s : s.substring(start));
  parts.push('"');
}

/** Half a pair of surrogates, which UTF-8 cannot hold. */
function loneAt(s: string, i: i32, c: i32): bool {
  if ((c & 0xf800) != 0xd800) return false;
  if (c < 0xdc00) return i + 1 >= s.length || (s.charCodeAt(i + 1) & 0xfc00) != 0xdc00;
  return i == 0 || (s.charCodeAt(i - 1) & 0xfc00) != 0xd800;
}

class Parser {
  pos: i32 = 0;
  bad: bool = false;

  constructor(private text: string) {}

  private at(): i32 { return this.pos < this.text.length ? this.text.charCodeAt(this.pos) : -1; }

  private fail(): Value {
    this.bad = true;
    return Value.null();
  }

  space(): void {
    for (;;) {
      const c = this.at();
      if (c != 0x20 && c != 0x0a && c != 0x0d && c != 0x09) return;
      this.pos++;
    }
  }

  private word(w: string): bool {
    if (this.text.substr(this.pos, w.length) != w) {
      this.bad = true;
      return false;
    }
    this.pos += w.length;
    return true;
  }

  value(depth: i32): Value {
    if (depth > MAX_DEPTH) return this.fail();
    this.space();
    switch (this.at()) {
      case 0x7b: return this.object(depth);
      case 0x5b: return this.array(depth);
      case 0x22: return Value.text(this.str());
      case 0x74: return this.word("true") ? Value.bool(true) : this.fail();
      case 0x66: return this.word("false") ? Value.bool(false) : this.fail();
      case 0x6e: return this.word("null") ? Value.null() : this.fail();
      default: return this.num();
    }
  }

  private object(depth: i32): Value {
    const v = Value.object();
    this.pos++;
    this.space();
    if (this.at() == 0x7d) {
      this.pos++;
      return v;
    }
    while (!this.bad) {
      this.space();
      if (this.at() != 0x22) return this.fail();
      const name = this.str();
      this.space();
      if (this.at() != 0x3a) return this.fail();
      this.pos++;
      v.set(name, this.value(depth + 1));
      this.space();
      const c = this.at();
      this.pos++;
      if (c == 0x7d) return v;
      if (c != 0x2c) return this.fail();
    }
    return v;
  }

  private array(depth: i32): Value {
    const v = Value.array();
    this.pos++;
    this.space();
    if (this.at() == 0x5d) {
      this.pos++;
      return v;
    }
    while (!this.bad) {
      v.items.push(this.value(depth + 1));
      this.space();
      const c = this.at();
      this.pos++;
      if (c == 0x5d) return v;
      if (c != 0x2c) return this.fail();
    }
    return v;
  }

  private str(): string {
    const parts: string[] = [];
    let start = ++this.pos;
    for (;;) {
      const c = this.at();
      if (c < 0x20) {
        this.bad = true;
        return "";
      }
      if (c == 0x22) break;
      if (c == 0x5c) {
        if (this.pos > start) parts.push(this.text.substring(start, this.pos));
        parts.push(this.escape());
        if (this.bad) return "";
        start = this.pos;
        continue;
      }
      this.pos++;
    }
    const last = this.text.substring(start, this.pos++);
    if (parts.length == 0) return last;
    parts.push(last);
    return parts.join("");
  }

  private escape(): string {
    const c = this.pos + 1 < this.text.length ? this.text.charCodeAt(this.pos + 1) : -1;
    this.pos += 2;
    switch (c) {
      case 0x22: return '"';
      case 0x5c: return "\\";
      case 0x2f: return "/";
      case 0x62: return "\b";
      case 0x66: return "\f";
      case 0x6e: return "\n";
      case 0x72: return "\r";
      case 0x74: return "\t";
      case 0x75: {
        let code = 0;
        for (let i = 0; i < 4; i++) {
          const d = hexDigit(this.at());
          if (d < 0) break;
          code = (code << 4) | d;
          this.pos++;
          if (i == 3) return String.fromCharCode(code);
        }
      }
    }
    this.bad = true;
    return "";
  }

  private digits(): bool {
    const start = this.pos;
    while (this.at() >= 0x30 && this.at() <= 0x39) this.pos++;
    return this.pos > start;
  }

  private num(): Value {
    const start = this.pos;
    if (this.at() == 0x2d) this.pos++;
    const first = this.at();
    if (!this.digits() || (first == 0x30 && this.text.charCodeAt(this.pos - 1) != 0x30)) return this.fail();
    if (first == 0x30 && this.pos - start > (this.text.charCodeAt(start) == 0x2d ? 2 : 1)) return this.fail();
    if (this.at() == 0x2e) {
      this.pos++;
      if (!this.digits()) return this.fail();
    }
    if ((this.at() | 0x20) == 0x65) {
      this.pos++;
      if (this.at() == 0x2b || this.at() == 0x2d) this.pos++;
      if (!this.digits()) return this.fail();
    }
    return Value.number(parseFloat(this.text.substring(start, this.pos)));
  }
}

function hexDigit(c: i32): i32 {
  if (c >= 0x30 && c <= 0x39) return c - 0x30;
  c |= 0x20;
  return c >= 0x61 && c <= 0x66 ? c - 0x57 : -1;
}
