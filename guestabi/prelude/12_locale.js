// The engine has no locale data: it takes a locale and options and heeds neither. To
// format as if it did would be a wrong answer that looks right, so what it cannot do
// throws. Numbers are grouped as in en-US, the language's default elsewhere.
{
  const RangeFault = RangeError, toFixed = Number.prototype.toFixed, toLower = String.prototype.toLowerCase;
  const isEnglish = (locale) => locale === undefined || typeof locale === 'string' && /^en(-us)?$/.exec(apply(toLower, locale, [])) !== null;
  const lacks = (what, remedy) => new RangeFault(what + ': there is no locale data here; ' + remedy);

  function group(digits) {
    let out = '';
    for (let end = digits.length; end > 0; end -= 3) out = apply(stringSlice, digits, [end > 3 ? end - 3 : 0, end]) + (out === '' ? '' : ',' + out);
    return out;
  }

  function digitsOf(options) {
    let least = 0, most = 3;
    const keys = options === undefined ? [] : objectKeys(options);
    for (let i = 0; i < keys.length; i++) {
      const value = options[keys[i]];
      if (keys[i] === 'minimumFractionDigits') least = value;
      else if (keys[i] === 'maximumFractionDigits') most = value;
      else if (value !== undefined) throw lacks('toLocaleString with "' + cut(keys[i], 50) + '"', 'write n.toFixed(2), and sign or unit beside it');
    }
    if (options !== undefined && options.maximumFractionDigits === undefined && least > most) most = least;
    if (!(least >= 0 && most <= 20 && least <= most)) throw new RangeFault('fraction digits are out of range');
    return { __proto__: null, least, most };
  }

  hide(Number.prototype, 'toLocaleString', {
    toLocaleString(locale, options) {
      const value = this - 0;
      if (!isEnglish(locale)) throw lacks('toLocaleString("' + cut(toText(locale), 50) + '")', 'leave the locale out for 1,234.5, or build the text from n.toFixed(2)');
      const digits = digitsOf(options);
      if (value - value !== 0 || value >= 1e21 || value <= -1e21) return toText(value);
      const fixed = apply(toFixed, value < 0 ? -value : value, [digits.most]);
      let end = fixed.length;
      const point = digits.most === 0 ? end : end - digits.most - 1;
      while (end > point + 1 + digits.least && fixed[end - 1] === '0') end--;
      if (end === point + 1) end = point;
      const text = group(apply(stringSlice, fixed, [0, point])) + apply(stringSlice, fixed, [point, end]);
      return value < 0 ? '-' + text : text;
    },
  }.toLocaleString);
  for (const name of ['toLocaleString', 'toLocaleDateString', 'toLocaleTimeString']) {
    const native = Date.prototype[name];
    hide(Date.prototype, name, {
      [name](locale, options) {
        if (locale !== undefined || options !== undefined) throw lacks('Date.' + name + ' with a locale or options', 'use toISOString(), or getUTCFullYear() and its like');
        return apply(native, this, []);
      },
    }[name]);
  }
  const compare = String.prototype.localeCompare;
  hide(String.prototype, 'localeCompare', {
    localeCompare(other, locale, options) {
      if (options !== undefined) throw lacks('localeCompare with options', 'compare toLowerCase() of both, or numbers');
      return apply(compare, this, [other]);
    },
  }.localeCompare);
}
