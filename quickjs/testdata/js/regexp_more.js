const r = [];
const d = /(?<first>a+)(b)?/d.exec('xaab'); r.push(d.indices[0], d.indices.groups.first, d.indices[2]);
r.push('ΑΒΓ αβγ'.match(/\p{Lu}/gu), 'é1_'.match(/\p{L}|\p{Nd}/gu), /[\p{Script=Greek}&&\p{Lu}]/v.test('Α'), /^[\w--\d]+$/v.test('abc'), /^[\w--\d]+$/v.test('a1'));
for (const bad of ['(', '[b-a]', '*', '(?<n>a)(?<n>b)', '\\k<x>(?<y>)', 'a{2,1}', '(?<=a)+']) { try { new RegExp(bad, 'u'); r.push('ok ' + bad); } catch (e) { r.push(e.name + ' ' + bad); } }
r.push(/a{2,3}?/.exec('aaaa')[0], /(z)((a+)?(b+)?(c))*/.exec('zaacbbbcac'), /\bfoo\b/.test('a foo b'), /[^]/.test('\n'), /\cJ/.test('\n'), /\x41\u0042/.test('AB'), /[\b]/.test('\b'));
class Up extends RegExp { [Symbol.match](s) { return super[Symbol.match](s.toUpperCase()); } }
r.push('abc'.match(new Up('B')), RegExp.prototype.toString.call({ source: 's', flags: 'f' }), /a/g.toString(), /ſ/i.test('s'), /ſ/iu.test('s'), 'ß'.match(/ẞ/iu));
const big = new RegExp('(' + 'a?'.repeat(12) + ')' + 'a'.repeat(12)); r.push(big.exec('a'.repeat(12))[0].length);
r.push('aaa'.replaceAll('a', '$$'), 'a.a'.replaceAll('.', '-'), (() => { try { 'a'.replaceAll(/a/, ''); } catch (e) { return e.message; } })());
const it = 'ab'.matchAll(/./g); r.push(it.next().value[0], it.next().value[0], it.next());
r.push(RegExp.escape ? RegExp.escape('a.b*c') : 'none', (() => { try { return new RegExp('(?i:a)b').test('Ab'); } catch (e) { return e.name; } })(), 'x'.replace(/(x)(y)?/, '[$1|$2|$3|$<n>]'));
r;
