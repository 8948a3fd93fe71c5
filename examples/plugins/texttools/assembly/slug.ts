// From U+00C0 on: what a letter is in ASCII. A space means that there is no good answer, so that the letter is kept.
const LATIN1 = "A,A,A,A,Ae,A,Ae,C,E,E,E,E,I,I,I,I,D,N,O,O,O,O,Oe, ,O,U,U,U,Ue,Y,Th,ss,a,a,a,a,ae,a,ae,c,e,e,e,e,i,i,i,i,d,n,o,o,o,o,oe, ,o,u,u,u,ue,y,th,y".split(",");
const EXTENDED = ("A,a,A,a,A,a,C,c,C,c,C,c,C,c,D,d,D,d,E,e,E,e,E,e,E,e,E,e,G,g,G,g,G,g,G,g,H,h,H,h,I,i,I,i,I,i,I,i,I,i,Ij,ij,J,j,K,k,k,L,l,L,l,L,l,L,l,L,l,"
  + "N,n,N,n,N,n,n,N,n,O,o,O,o,O,o,Oe,oe,R,r,R,r,R,r,S,s,S,s,S,s,S,s,T,t,T,t,T,t,U,u,U,u,U,u,U,u,U,u,U,u,W,w,Y,y,Y,Z,z,Z,z,Z,z,s").split(",");

import { isLetter } from "./letters";

/** Turns a text into a part of an address: lower case, words joined by the separator, accents taken off Latin letters. */
export function slugify(text: string, separator: string, maxLength: i32): string {
  const words: string[] = [];
  let word = "";
  for (let i = 0; i < text.length; i++) {
    const c = text.codePointAt(i);
    const size = c > 0xffff ? 2 : 1;
    if (isLetter(c)) {
      word += plain(c, text.substr(i, size));
    } else if (c != 0x27 && c != 0x2019 && (c < 0x300 || c > 0x36f) && word.length > 0) {
      words.push(word.toLowerCase());
      word = "";
    }
    i += size - 1;
  }
  if (word.length > 0) words.push(word.toLowerCase());
  return fit(words, separator, maxLength);
}

function plain(c: i32, letter: string): string {
  let folded = " ";
  if (c >= 0xc0 && c < 0x100) folded = LATIN1[c - 0xc0];
  if (c >= 0x100 && c < 0x180) folded = EXTENDED[c - 0x100];
  if (c >= 0x300 && c <= 0x36f) return "";
  return folded == " " ? letter : folded;
}

/** Joins whole words up to a length in UTF-16 units; a first word that is longer is cut. */
function fit(words: string[], separator: string, maxLength: i32): string {
  let slug = "";
  for (let i = 0; i < words.length; i++) {
    const next = slug.length == 0 ? words[i] : slug + separator + words[i];
    if (next.length > maxLength) {
      if (slug.length > 0) break;
      const end = (next.charCodeAt(maxLength - 1) & 0xfc00) == 0xd800 ? maxLength - 1 : maxLength;
      return next.substring(0, end);
    }
    slug = next;
  }
  return slug;
}
