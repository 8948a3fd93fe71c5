import { Answer, Kind, Value, fail, ok } from "../../../../sdk/assemblyscript/assembly";

/** Puts values into {{name}} and {{path.to.name}}; a backslash before {{ keeps it. What has no value is a failure that
 * lists all of them, or stays. */
export function fill(template: string, values: Value, keepMissing: bool): Answer {
  const parts: string[] = [];
  const missing: string[] = [];
  let pos = 0;
  for (;;) {
    const open = template.indexOf("{{", pos);
    if (open < 0) break;
    if (open > pos && template.charCodeAt(open - 1) == 0x5c) {
      parts.push(template.substring(pos, open - 1) + "{{");
      pos = open + 2;
      continue;
    }
    const close = template.indexOf("}}", open);
    if (close < 0) return fail("open_placeholder", 'the placeholder at character ' + (open + 1).toString() + ' has no "}}"; write \\{{ to keep the braces');
    parts.push(template.substring(pos, open));
    const name = template.substring(open + 2, close).trim();
    const value = find(values, name);
    if (value) parts.push(value.kind == Kind.Text ? value.asText() : value.toString());
    else if (keepMissing) parts.push(template.substring(open, close + 2));
    else if (missing.indexOf(name) < 0) missing.push(name);
    pos = close + 2;
  }
  if (missing.length > 0) return fail("missing_value", "there is no value for " + missing.join(", ") + '; give it in "values", or set keepMissing');
  parts.push(template.substring(pos));
  return ok(Value.object().set("text", Value.text(parts.join(""))));
}

/** A value by its path; elements of arrays are counted from 0. */
function find(values: Value, path: string): Value | null {
  let v: Value | null = values;
  const names = path.split(".");
  for (let i = 0; i < names.length && v; i++) {
    if (v.kind == Kind.Array) {
      const index = <i32>parseInt(names[i], 10);
      v = index.toString() == names[i] && index >= 0 && index < v.items.length ? v.items[index] : null;
    } else {
      v = v.get(names[i]);
    }
  }
  return v;
}
