import { Answer, Value, fail, ok } from "../../../../sdk/assemblyscript/assembly";
import { lines } from "./letters";

const MAX_CELLS: i64 = 4_000_000;

/** One line of a difference: " " in both, "-" only before, "+" only after. */
class Edit {
  constructor(readonly sign: string, readonly text: string) {}
}

/** Compares two texts line by line, as a unified difference. */
export function diffLines(before: string, after: string, context: i32): Answer {
  const a = lines(before);
  const b = lines(after);
  const edits = compare(a, b);
  if (!edits) return fail("too_long", "the texts differ over too many lines; compare parts of them");
  let added = 0;
  let removed = 0;
  for (let i = 0; i < edits.length; i++) {
    if (edits[i].sign == "+") added++;
    if (edits[i].sign == "-") removed++;
  }
  return ok(Value.object()
    .set("same", Value.bool(added + removed == 0))
    .set("added", Value.number(added))
    .set("removed", Value.number(removed))
    .set("unified", Value.text(unified(edits, context))));
}

/** The shortest way from one list to the other, by their longest common subsequence; null if that is too much work. */
function compare(a: string[], b: string[]): Edit[] | null {
  let from = 0;
  let aEnd = a.length;
  let bEnd = b.length;
  while (from < aEnd && from < bEnd && a[from] == b[from]) from++;
  while (aEnd > from && bEnd > from && a[aEnd - 1] == b[bEnd - 1]) {
    aEnd--;
    bEnd--;
  }
  const width = bEnd - from + 1;
  if (<i64>(aEnd - from + 1) * <i64>width > MAX_CELLS) return null;
  const table = common(a, b, from, aEnd, bEnd);
  const out: Edit[] = [];
  for (let i = 0; i < from; i++) out.push(new Edit(" ", a[i]));
  let i = from;
  let j = from;
  while (i < aEnd || j < bEnd) {
    const cell = (i - from) * width + (j - from);
    if (i < aEnd && j < bEnd && a[i] == b[j]) {
      out.push(new Edit(" ", a[i++]));
      j++;
    } else if (i < aEnd && (j == bEnd || table[cell + width] >= table[cell + 1])) {
      out.push(new Edit("-", a[i++]));
    } else {
      out.push(new Edit("+", b[j++]));
    }
  }
  for (; i < a.length; i++) out.push(new Edit(" ", a[i]));
  return out;
}

/** How many lines are common from each pair of places on. */
function common(a: string[], b: string[], from: i32, aEnd: i32, bEnd: i32): StaticArray<i32> {
  const width = bEnd - from + 1;
  const table = new StaticArray<i32>((aEnd - from + 1) * width);
  for (let i = aEnd - 1; i >= from; i--) {
    for (let j = bEnd - 1; j >= from; j--) {
      const cell = (i - from) * width + (j - from);
      table[cell] = a[i] == b[j] ? table[cell + width + 1] + 1 : max(table[cell + width], table[cell + 1]);
    }
  }
  return table;
}

function unified(edits: Edit[], context: i32): string {
  const out: string[] = [];
  let i = 0;
  let aLine = 1;
  let bLine = 1;
  while (i < edits.length) {
    let first = i;
    while (first < edits.length && edits[first].sign == " ") first++;
    if (first == edits.length) break;
    const start = max(i, first - context);
    aLine += start - i;
    bLine += start - i;
    const end = hunkEnd(edits, first, context);
    let aCount = 0;
    let bCount = 0;
    const body: string[] = [];
    for (let k = start; k < end; k++) {
      if (edits[k].sign != "+") aCount++;
      if (edits[k].sign != "-") bCount++;
      body.push(edits[k].sign + edits[k].text);
    }
    out.push("@@ -" + range(aLine, aCount) + " +" + range(bLine, bCount) + " @@");
    for (let k = 0; k < body.length; k++) out.push(body[k]);
    aLine += aCount;
    bLine += bCount;
    i = end;
  }
  return out.length == 0 ? "" : out.join("\n") + "\n";
}

/** Where a hunk ends: changes with at most twice the context between them are one. */
function hunkEnd(edits: Edit[], first: i32, context: i32): i32 {
  let last = first;
  for (let k = first; k < edits.length && k - last <= 2 * context + 1; k++) {
    if (edits[k].sign != " ") last = k;
  }
  return min(edits.length, last + 1 + context);
}

function range(line: i32, count: i32): string {
  if (count == 1) return line.toString();
  return (count == 0 ? line - 1 : line).toString() + "," + count.toString();
}
