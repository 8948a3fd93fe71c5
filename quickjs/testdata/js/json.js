const r = [];
r.push(JSON.stringify({ a: [1, 'x', null, undefined, () => 1, Symbol('s')], b: undefined, c: new Date(0), d: NaN, e: -0, f: Infinity, g: new Map([[1, 2]]), h: new Set([1]), i: Object(1), j: Object('s'), k: Object(false) }));
r.push(JSON.stringify({ b: 1, a: { d: [], c: {} } }, null, 2), JSON.stringify([1, [2]], null, '--'), JSON.stringify({ a: 1, b: 2, 1: 3 }, ['b', 1]), JSON.stringify({ a: 5, b: [5] }, (k, v) => (v === 5 ? k + '!' : v)), JSON.stringify('\u2028\ud800"\\\n\u0007\u{1f600}'));
r.push(JSON.stringify({ toJSON(k) { return { k }; } }), JSON.stringify({ n: { toJSON: (k) => k } }), JSON.stringify(undefined), JSON.stringify(Symbol()), JSON.stringify(() => 1), JSON.stringify(null), JSON.stringify(Object.create({ a: 1 }, { b: { value: 1, enumerable: true }, c: { value: 1 } })));
r.push(JSON.parse('{"a":[1,2,{"b":null}],"__proto__":{"x":1},"a":2}'), JSON.parse(' [1e3, -0, 0.5, true ] '), JSON.parse('"\\u0041\\ud83d\\ude00"'), JSON.parse('[1,2,3]', (k, v) => (Array.isArray(v) ? v : v * 2)), JSON.parse('{"x":{"y":1}}', function (k, v) { return k === 'y' ? undefined : v; }));
for (const bad of ['', '{', '[1,]', '{"a":1,}', "{'a':1}", '01', '1.', '.5', '+1', '"\n"', '"\\x41"', 'NaN', '[1 2]', 'tru', '"\\u12"', '\ufeff1', '1 1', '{"a"}', '-']) { try { r.push(JSON.parse(bad)); } catch (e) { r.push(e.name); } }
const cyc = {}; cyc.c = cyc; try { JSON.stringify(cyc); } catch (e) { r.push(e.name); } try { JSON.stringify(1n); } catch (e) { r.push(e.name); }
const deep = JSON.parse('['.repeat(500) + ']'.repeat(500)); let n = 0; for (let x = deep; x; x = x[0]) n++; r.push(n, JSON.stringify(deep).length, Object.getPrototypeOf(JSON.parse('{"__proto__":1}')) === Object.prototype);
r.push(JSON.rawJSON ? JSON.stringify({ a: JSON.rawJSON('1e1000') }) : 'none', JSON.stringify({ a: 1 }, null, 20).length, JSON.stringify([undefined, function () {}]), JSON[Symbol.toStringTag]);
r;
