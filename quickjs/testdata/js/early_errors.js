const r = [];
const parse = (src) => { try { new RegExp(src); return 'ok'; } catch (e) { return e.name; } };
r.push(parse('a('), parse('[z-a]'), parse('a**'), parse('(?<a'), parse('\\'), parse('(?:'), parse('a{1'), parse(')'));
r;
