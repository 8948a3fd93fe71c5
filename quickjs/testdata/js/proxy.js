const log = [];
const handler = new Proxy({}, { get(_, trap) { return (target, ...args) => { log.push(trap + ':' + args.filter((a) => typeof a !== 'object').map(String).join(',')); return Reflect[trap](target, ...args); }; } });
function Target(x) { this.x = x; }
const p = new Proxy(Target, handler);
const o = new Proxy({ a: 1, get b() { return this.a + 1; } }, handler);
o.a; o.b; o.c = 3; delete o.c; 'a' in o; Object.keys(o); Object.getOwnPropertyDescriptor(o, 'a'); Object.defineProperty(o, 'd', { value: 1, configurable: true });
Object.getPrototypeOf(o); Object.isExtensible(o); Object.preventExtensions(o); new p(5); p.call(null, 1) ; for (const k in o) log.push('key ' + k); JSON.stringify(o); ({ ...o });
const r = [log];
for (const bad of [
  () => new Proxy({}, { getPrototypeOf() { return 1; } }).__proto__, () => Object.keys(new Proxy({}, { ownKeys() { return ['a', 'a']; } })),
  () => new Proxy(Object.freeze({ a: 1 }), { get() { return 2; } }).a, () => { 'use strict'; new Proxy({}, { set() { return false; } }).a = 1; },
  () => Object.getOwnPropertyDescriptor(new Proxy({}, { getOwnPropertyDescriptor() { return 1; } }), 'a'), () => new Proxy({}, null), () => { const x = Proxy.revocable({}, {}); x.revoke(); return x.proxy.a; },
  () => new (new Proxy(() => 1, {}))(), () => delete new Proxy(Object.freeze({ a: 1 }), { deleteProperty() { return true; } }).a, () => Reflect.ownKeys(new Proxy({}, { ownKeys() { return [1]; } })),
]) { try { r.push(bad()); } catch (e) { r.push(e.name); } }
const arr = new Proxy([1, 2, 3], {}); r.push(Array.isArray(arr), arr.map((x) => x * 2), arr.length, [].concat(arr), JSON.stringify(arr), Object.prototype.toString.call(arr));
const neg = new Proxy([1, 2, 3], { get: (t, k, rcv) => Reflect.get(t, typeof k === 'string' && +k < 0 ? String(t.length + +k) : k, rcv) }); r.push(neg[-1], typeof new Proxy(function () {}, {}));
r;
