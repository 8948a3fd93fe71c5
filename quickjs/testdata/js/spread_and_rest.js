const r = [];
r.push([...'héllo', ...[1, , 3], ...new Set([1, 1, 2]), ...new Map([['k', 'v']])], Math.max(...[1, 5, 3], 4), { ...{ a: 1 }, ...null, ...'hi', ...[9], b: 2, ...{ a: 3 } }, { ...{ get x() { return 'got'; } } });
function va() { return [arguments.length, [...arguments], Array.prototype.slice.call(arguments, 1)]; } r.push(va(1, ...[2, 3], ...''), ((...args) => args)(1, 2), new Date(...[2020, 1, 1]).getTime(), new (class { constructor(...a) { this.a = a; } })(...[1], 2));
function sloppy(a, b) { arguments[0] = 'changed'; b = 'b2'; return [a, arguments[1], arguments.length]; } function strict(a) { 'use strict'; arguments[0] = 9; return a; } r.push(sloppy(1, 2), sloppy(1), strict(1), Object.prototype.toString.call((function () { return arguments; })()));
const sym = Symbol('k'); r.push(Object.getOwnPropertySymbols({ ...{ [sym]: 1 } }).length, Object.keys({ ...Object.create({ inh: 1 }, { e: { value: 1, enumerable: true }, n: { value: 2 } }) }), [...(function* () { yield 1; return 2; })()]);
for (const bad of [() => [...1], () => f(...undefined), () => new Map([1]), () => Math.max(...{ length: 2 })]) { try { r.push(bad()); } catch (e) { r.push(e.name); } } function f() { }
r;
