const r = [];
class A { constructor(x) { this.x = x; this.t = new.target && new.target.name; } get y() { return this.x; } set y(v) { this.z = v; } }
class B { }
r.push(Reflect.construct(A, [1], B) instanceof B, Reflect.construct(A, [1], B).t, Reflect.apply(Math.max, null, [1, 3, 2]), Reflect.has({ a: 1 }, 'a'), Reflect.ownKeys({ b: 1, 2: 1, a: 1, 1: 1, [Symbol('s')]: 1 }));
const recv = {}; Reflect.set(A.prototype, 'y', 5, recv); r.push(recv, Reflect.get(A.prototype, 'y', { x: 'got' }), Reflect.defineProperty(Object.freeze({}), 'a', { value: 1 }), Reflect.deleteProperty(Object.freeze([1]), 0));
r.push(Reflect.getPrototypeOf([]) === Array.prototype, Reflect.setPrototypeOf(Object.preventExtensions({}), null), Reflect.isExtensible({}), Reflect.preventExtensions({}), Reflect.getOwnPropertyDescriptor({ get a() { return 1; } }, 'a').set, Reflect[Symbol.toStringTag]);
for (const bad of [() => Reflect.construct(() => {}, []), () => Reflect.apply(1), () => Reflect.ownKeys(1), () => Reflect.construct(A, [], () => {}), () => Reflect.setPrototypeOf({}, 1)]) { try { r.push(bad()); } catch (e) { r.push(e.name); } }
const loop = {}; r.push(Reflect.setPrototypeOf(loop, Object.create(loop)), Object.getOwnPropertyNames(class { static m() {} }), Reflect.ownKeys(function f(a, b) {}));
r;
