const r = [];
const { a, b: { c = 5, ...rest } = {}, ['d' + 1]: e, ...others } = { a: 1, b: { x: 2, y: 3 }, d1: 4, f: 6, g: 7 };
const [p, , q = 'def', [s] = ['nested'], ...tail] = [1, 2, undefined, undefined, 5, 6]; let x = 1, y = 2; [x, y] = [y, x];
r.push([a, c, rest, e, others, p, q, s, tail, x, y]); const o = {}; [o.a, o['b'], ...o.c] = 'hello'; ({ length: o.len } = 'four'); r.push(o);
const log = []; const src = { get k() { log.push('get'); return undefined; } }; const { k = (log.push('default'), 'dv') } = src; r.push(k, log);
function f({ a = 1, b } = {}, [c2, d = c2] = [9], ...z) { return [a, b, c2, d, z, arguments.length, f.length]; } r.push(f(), f({ b: 2 }, [1], 7, 8), ((a, b = a, c = () => b) => c())(4));
for (const [key, { v }] of Object.entries({ one: { v: 1 }, two: { v: 2 } })) r.push(key + v); for (const { length } of ['a', 'bb']) r.push(length);
for (const bad of [() => { const { z } = null; }, () => { const [z] = {}; }, () => { const { m: { n } } = {}; }, () => { const [z] = undefined; }]) { try { bad(); } catch (e) { r.push(e.name); } }
let closed = 0; const iter = { [Symbol.iterator]() { return { next: () => ({ value: 1, done: false }), return() { closed++; return {}; } }; } }; const [i1, i2] = iter; r.push(i1, i2, closed); const { 0: first, length } = 'str'; r.push(first, length);
const { toString, ...noProto } = { __proto__: { inherited: 1 }, own: 2 }; r.push(typeof toString, noProto, (({ a: { b: deep } }) => deep)({ a: { b: 'd' } })); try { throw { code: 1, msg: 'm' }; } catch ({ code, msg }) { r.push(code, msg); }
r;
