const r = []; var undefined_ = void 0, let_ = 1; var yield_ = 2, async = 3, of = 4, get = 5, set = 6, static_ = 7; r.push(async + of + get + set); const async_arrow = (async) => async + 1; r.push(async_arrow(1)); var o = { async: 1, get: 2, set: 3, await: 4, static: 5, new: 6, typeof: 7, async *gen() { }, get get() { return 'gg'; }, set set(v) { }, async async() { } }; r.push(Object.keys(o), o.get);
r.push(((a, b) => a + b).length, (() => ({}))(), (() => { })(), ((a) => ({ a }))(1), typeof typeof 1, !!'' + 1, +!0, - -1, 1 - -1, [, 1][1], [1, , 2].length, (1, 2, 3), { }.x, `${`nested ${1 + 1}`}`, 0 ? 1 : 2 ? 3 : 4, 'a' in { a: 1 } ? 'y' : 'n', delete [].x, void 'x'); x: y: { break x; } ; ; ; { } if (1); else; var a = 1
var b = a
++b
r.push(a, b); var c = b
/2/1
r.push(c); const f = function () { return
  'unreachable'; }; r.push(f()); label: for (var i of [1]) { continue label } <!-- html comment
r.push(1 <!--x
); var \u0061bc = 'esc'; r.push(abc, 0.1.toFixed(1), 1..toString(), 010, 0o10, '\x41', '\101'); r.push(new Date(0).getTime?.(), new (class { x = 1 })().x, new Array, new (function () { this.z = 1; })().z, [..."ab"].map((x) => x)?.[1], a ?? b, (a, b), ((a) => { { var a = 5; } return a; })(1)); do r.push('do') ; while (0) r.push('after'); function g(a, a2 = a, { b = a2 } = {}) { return b; } r.push(g(9)); try { } catch { } finally { r.push('fin'); } if (true) { function inBlock() { return 'blk'; } } r.push(inBlock(), (function () { return typeof inner; { function inner() { } } })());
with ({ a: 'with' }) r.push(a); var { length } = 'abc', [first] = 'xyz'; r.push(length, first); r.push(((x) => x ** 2)(3), (-2) ** 2, 2 ** 3 ** 0, a?.5:1, 1_0.5_0, 0xFFn, (class { static async *[Symbol.asyncIterator]() { } }).name, (function* () { return yield yield 1; })().next(), [...(function* () { const x = yield* [1, 2]; })()]);
r;
