// TextEncoder and TextDecoder for UTF-8 (WHATWG Encoding, 4 and 9), atob and btoa
// (HTML, 8.3), since tools give and take files as base64 and text as bytes.
{
  const GuestUint8Array = Uint8Array, GuestUint16Array = Uint16Array, GuestRangeError = RangeError;
  const fromCodes = String.fromCharCode, codeAt = String.prototype.charCodeAt, subarray = GuestUint8Array.prototype.subarray;
  const viewBuffer = getter(typedPrototype, 'buffer'), viewOffset = getter(typedPrototype, 'byteOffset'), viewLength = getter(typedPrototype, 'byteLength');
  const dataBuffer = getter(DataView.prototype, 'buffer'), dataOffset = getter(DataView.prototype, 'byteOffset'), dataLength = getter(DataView.prototype, 'byteLength');
  const bufferLength = getter(ArrayBuffer.prototype, 'byteLength');
  const replacement = 0xFFFD, chunk = 4096;

  function encodeText(text) {
    const bytes = new GuestUint8Array(text.length * 3);
    let at = 0;
    for (let i = 0; i < text.length; i++) {
      let c = apply(codeAt, text, [i]);
      if (c < 0x80) { bytes[at++] = c; continue; }
      if (c >= 0xD800 && c <= 0xDFFF) {
        const low = c < 0xDC00 && i + 1 < text.length ? apply(codeAt, text, [i + 1]) : 0;
        if (low >= 0xDC00 && low <= 0xDFFF) { c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00); i++; } else c = replacement;
      }
      if (c < 0x800) bytes[at++] = 0xC0 | c >> 6;
      else {
        if (c < 0x10000) bytes[at++] = 0xE0 | c >> 12;
        else { bytes[at++] = 0xF0 | c >> 18; bytes[at++] = 0x80 | c >> 12 & 63; }
        bytes[at++] = 0x80 | c >> 6 & 63;
      }
      bytes[at++] = 0x80 | c & 63;
    }
    const exact = new GuestUint8Array(at);
    for (let i = 0; i < at; i++) exact[i] = bytes[i];
    return exact;
  }

  // bytesOf views what holds bytes as a Uint8Array.
  function bytesOf(source) {
    if (source === undefined) return new GuestUint8Array(0);
    if (typeof source === 'object' && source !== null) {
      if (apply(typedName, source, []) !== undefined) return new GuestUint8Array(apply(viewBuffer, source, []), apply(viewOffset, source, []), apply(viewLength, source, []));
      try { return new GuestUint8Array(apply(dataBuffer, source, []), apply(dataOffset, source, []), apply(dataLength, source, [])); } catch { /* no DataView */ }
      try { apply(bufferLength, source, []); return new GuestUint8Array(source); } catch { /* no ArrayBuffer */ }
    }
    throw new GuestTypeError('TextDecoder.decode takes a Uint8Array, another typed array or an ArrayBuffer');
  }

  function decodeText(bytes, fatal, keepMark) {
    const length = apply(viewLength, bytes, []);
    const units = new GuestUint16Array(chunk);
    let text = '', used = 0, i = 0;
    if (!keepMark && length >= 3 && bytes[0] === 0xEF && bytes[1] === 0xBB && bytes[2] === 0xBF) i = 3;
    while (i < length) {
      let c = bytes[i++];
      if (c >= 0x80) {
        const need = c >= 0xC2 && c <= 0xDF ? 1 : c >= 0xE0 && c <= 0xEF ? 2 : c >= 0xF0 && c <= 0xF4 ? 3 : 0;
        // The second byte has bounds of its own where longer forms, surrogates or too large numbers would begin.
        let lower = c === 0xE0 ? 0xA0 : c === 0xF0 ? 0x90 : 0x80, upper = c === 0xED ? 0x9F : c === 0xF4 ? 0x8F : 0xBF, got = 0;
        let code = need === 1 ? c & 0x1F : need === 2 ? c & 0x0F : c & 0x07;
        while (got < need && i < length && bytes[i] >= lower && bytes[i] <= upper) {
          code = code << 6 | bytes[i++] & 63;
          lower = 0x80; upper = 0xBF; got++;
        }
        c = need > 0 && got === need ? code : replacement;
        if (c === replacement && fatal && !(need === 2 && got === need)) throw new GuestTypeError('the bytes are not UTF-8');
      }
      if (c >= 0x10000) { units[used++] = 0xD800 + (c - 0x10000 >> 10); c = 0xDC00 + (c & 0x3FF); }
      units[used++] = c;
      if (used >= chunk - 2) { text += apply(fromCodes, undefined, apply(subarray, units, [0, used])); used = 0; }
    }
    return text + apply(fromCodes, undefined, apply(subarray, units, [0, used]));
  }

  // latin1 gives a text with a character for each byte.
  function latin1(bytes) {
    const length = apply(viewLength, bytes, []);
    let text = '';
    for (let at = 0; at < length; at += chunk) text += apply(fromCodes, undefined, apply(subarray, bytes, [at, at + chunk]));
    return text;
  }

  const { fromBase64 } = GuestUint8Array, { toBase64 } = GuestUint8Array.prototype;
  const holder = {
    __proto__: null,
    atob(text) {
      let bytes;
      try { bytes = apply(fromBase64, GuestUint8Array, [toText(text)]); } catch { throw new GuestTypeError('atob: the text is not base64'); }
      return latin1(bytes);
    },
    btoa(data) {
      const text = toText(data), bytes = new GuestUint8Array(text.length);
      for (let i = 0; i < text.length; i++) {
        const c = apply(codeAt, text, [i]);
        if (c > 0xFF) throw new GuestTypeError('btoa takes bytes as characters: use new TextEncoder().encode(text).toBase64() for text');
        bytes[i] = c;
      }
      return apply(toBase64, bytes, []);
    },
  };
  hide(globalThis, 'atob', holder.atob);
  hide(globalThis, 'btoa', holder.btoa);

  class TextEncoder {
    get encoding() { return 'utf-8'; }
    encode(text) { return encodeText(text === undefined ? '' : toText(text)); }
  }
  class TextDecoder {
    #fatal; #keepMark;
    constructor(label, options) {
      if (label !== undefined && /^ *(?:utf-?8|unicode-1-1-utf-8) *$/i.exec(toText(label)) === null) {
        throw new GuestRangeError('TextDecoder knows utf-8 only, not ' + cut(toText(label), 50));
      }
      this.#fatal = options !== undefined && !!options.fatal;
      this.#keepMark = options !== undefined && !!options.ignoreBOM;
    }
    get encoding() { return 'utf-8'; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#keepMark; }
    decode(source, options) {
      if (options !== undefined && options.stream) throw new GuestTypeError('TextDecoder.decode does not take a stream: decode all bytes at once');
      return decodeText(bytesOf(source), this.#fatal, this.#keepMark);
    }
  }
  hide(globalThis, 'TextEncoder', TextEncoder);
  hide(globalThis, 'TextDecoder', TextDecoder);
}
