import { Answer, Value, ok } from "../../../../sdk/assemblyscript/assembly";
import { codePoints, isLetter, lines } from "./letters";

class Counted {
  constructor(readonly word: string, readonly count: i32) {}
}

/** Counts a text and lists its most frequent words, in lower case. */
export function frequencies(text: string, top: i32, minLength: i32): Answer {
  const words = wordsOf(text.toLowerCase());
  const counts = new Map<string, i32>();
  for (let i = 0; i < words.length; i++) {
    const word = words[i];
    counts.set(word, counts.has(word) ? counts.get(word) + 1 : 1);
  }
  const ranked: Counted[] = [];
  const distinct = counts.keys();
  for (let i = 0; i < distinct.length; i++) {
    if (codePoints(distinct[i]).length >= minLength) ranked.push(new Counted(distinct[i], counts.get(distinct[i])));
  }
  ranked.sort((a, b) => (a.count != b.count ? b.count - a.count : a.word < b.word ? -1 : 1));
  const list = Value.array();
  for (let i = 0; i < min(top, ranked.length); i++) {
    list.push(Value.object().set("word", Value.text(ranked[i].word)).set("count", Value.number(ranked[i].count)));
  }
  return ok(Value.object()
    .set("characters", Value.number(codePoints(text).length))
    .set("words", Value.number(words.length))
    .set("distinct", Value.number(distinct.length))
    .set("lines", Value.number(lines(text).length))
    .set("top", list));
}

/** The words of a text. An apostrophe or a hyphen between letters belongs to the word. */
function wordsOf(text: string): string[] {
  const out: string[] = [];
  let start = -1;
  for (let i = 0; i < text.length; i++) {
    const c = text.codePointAt(i);
    const size = c > 0xffff ? 2 : 1;
    const joins = (c == 0x27 || c == 0x2019 || c == 0x2d) && start >= 0 && i + 1 < text.length && isLetter(text.codePointAt(i + 1));
    if (isLetter(c) || joins) {
      if (start < 0) start = i;
    } else if (start >= 0) {
      out.push(text.substring(start, i));
      start = -1;
    }
    i += size - 1;
  }
  if (start >= 0) out.push(text.substring(start));
  return out;
}
