/** Whether a code point belongs to words. AssemblyScript has no tables of Unicode: beyond Latin everything counts but
 * punctuation, spaces and pictures. */
export function isLetter(c: i32): bool {
  if (c < 0x80) return isDigit(c) || ((c | 0x20) >= 0x61 && (c | 0x20) <= 0x7a);
  if (c < 0xc0) return c == 0xaa || c == 0xb5 || c == 0xba;
  if (c == 0xd7 || c == 0xf7) return false;
  if (c >= 0x2000 && c <= 0x2bff) return (c >= 0x2100 && c <= 0x218f) || c == 0x2071 || c == 0x207f;
  if (c >= 0x2e00 && c <= 0x2e7f) return false;
  if (c >= 0x3000 && c <= 0x303f) return c == 0x3005 || c == 0x3006 || c == 0x3007;
  if (c >= 0xff00 && c <= 0xff0f) return false;
  if (c >= 0xfe00 && c <= 0xfe6f) return false;
  if (c == 0xfeff || c == 0xfffd) return false;
  return c < 0x1f000 || c > 0x1faff;
}

function isDigit(c: i32): bool { return c >= 0x30 && c <= 0x39; }

/** The code points of a text. */
export function codePoints(text: string): i32[] {
  const out: i32[] = [];
  for (let i = 0; i < text.length; i++) {
    const c = text.codePointAt(i);
    if (c > 0xffff) i++;
    out.push(c);
  }
  return out;
}

/** The lines of a text. A line end is \n, \r\n or the end; a text that ends in one has no empty last line. */
export function lines(text: string): string[] {
  if (text.length == 0) return [];
  const out = text.split("\n");
  if (out[out.length - 1].length == 0) out.pop();
  for (let i = 0; i < out.length; i++) {
    const line = out[i];
    if (line.endsWith("\r")) out[i] = line.substring(0, line.length - 1);
  }
  return out;
}
