const r = [];
r.push('2024-03-15'.match(/(?<y>\d{4})-(?<m>\d\d)-(?<d>\d\d)/).groups, /a|ab/.exec('abc')[0], /((a)|(ab))((c)|(bc))/.exec('abc'));
r.push('aBc'.replace(/b/i, '[$&$`$\']'), 'x1y22'.replace(/\d+/g, (m, off, s) => `<${m}@${off}/${s.length}>`), 'John Smith'.replace(/(\w+)\s(\w+)/, '$2, $1'));
r.push([...'a1b2c3'.matchAll(/([a-z])(\d)/g)].map((m) => [m[0], m.index, ...m.slice(1)]), 'a,b;c'.split(/[,;]/), 'abc'.split(/(b)/), 'test'.search(/s/));
const sticky = /foo/y; sticky.lastIndex = 3; r.push(sticky.test('barfoo'), sticky.lastIndex, sticky.test('barfoo'), sticky.lastIndex);
r.push(/^b/m.test('a\nb'), /a.c/s.test('a\nc'), /a.c/.test('a\nc'), /\u{1F600}/u.test('😀'), /^.$/u.test('😀'), /^.$/.test('😀'));
r.push(/x*/g[Symbol.replace]('axb', '-'), RegExp('a/b').source, String(/[/]\//g), /(?:)/.source, new RegExp('', 'dgimsuy').flags);
r.push(/a(?=b)/.exec('ab')[0], /a(?!b)/.test('ab'), /(?<=\$)\d+/.exec('cost $42')[0], /(?<!\$)\b\d+/.exec('$1 22')[0], /(a)\1/.test('aa'), /(?<q>['"]).*?\k<q>/.exec(`say "it's" ok`)[0]);
r;
