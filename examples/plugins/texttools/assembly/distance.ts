import { Answer, Value, fail, ok } from "../../../../sdk/assemblyscript/assembly";
import { codePoints } from "./letters";

const MAX_CELLS: i64 = 64_000_000;

/** Levenshtein's distance between two texts, by code points, and how alike they are. */
export function distance(first: string, second: string, ignoreCase: bool): Answer {
  const a = codePoints(ignoreCase ? first.toLowerCase() : first);
  const b = codePoints(ignoreCase ? second.toLowerCase() : second);
  let from = 0;
  let aEnd = a.length;
  let bEnd = b.length;
  while (from < aEnd && from < bEnd && a[from] == b[from]) from++;
  while (aEnd > from && bEnd > from && a[aEnd - 1] == b[bEnd - 1]) {
    aEnd--;
    bEnd--;
  }
  if (<i64>(aEnd - from) * <i64>(bEnd - from) > MAX_CELLS) {
    return fail("too_long", "the texts differ over too great a length; compare parts of them, or use text_diff");
  }
  const steps = edits(a, b, from, aEnd, bEnd);
  const longest = max(a.length, b.length);
  const alike: f64 = longest == 0 ? 1 : 1 - <f64>steps / <f64>longest;
  return ok(Value.object()
    .set("distance", Value.number(steps))
    .set("similarity", Value.number(Math.round(alike * 10000) / 10000)));
}

function edits(a: i32[], b: i32[], from: i32, aEnd: i32, bEnd: i32): i32 {
  const width = bEnd - from;
  const row = new StaticArray<i32>(width + 1);
  for (let j = 0; j <= width; j++) row[j] = j;
  for (let i = from; i < aEnd; i++) {
    let diagonal = row[0];
    row[0]++;
    for (let j = 1; j <= width; j++) {
      const above = row[j];
      const cost = a[i] == b[from + j - 1] ? 0 : 1;
      row[j] = min(min(above, row[j - 1]) + 1, diagonal + cost);
      diagonal = above;
    }
  }
  return row[width];
}
