const r = [];
class A {
  #p = 1; static #count = 0; static make() { A.#count++; return new this(); } x = this.#p + 1; ['comp' + 'uted'] = 3; static s = 'static'; static { this.block = this.s + '!'; }
  get p() { return this.#p; } set p(v) { this.#p = v; } #m() { return 'private ' + this.#p; } m() { return this.#m(); } static has(o) { return #p in o; } static get count() { return A.#count; } *gen() { yield* [1, 2]; } async am() { return 1; }
  toString() { return `A(${this.#p})`; }
}
class B extends A { constructor(...a) { super(...a); this.own = super.m(); } m() { return 'B' + super.m(); } static make() { return super.make(); } get [Symbol.toStringTag]() { return 'Bee'; } }
const b = B.make(); b.p = 7; r.push(b, b.m(), `${b}`, A.count, A.has(b), A.has({}), A.block, [...b.gen()], Object.prototype.toString.call(b), b instanceof A, B.__proto__ === A, Object.getOwnPropertyNames(A.prototype));
for (const bad of [() => A(), () => B.prototype.m.call({}), () => new (class extends null { })(), () => new (class extends A { constructor() { this.x = 1; } })(), () => new (class extends A { constructor() { } })(), () => { class X extends undefined { } }, () => Object.defineProperty(A, 'prototype', { value: 1 }), () => { new A().constructor = 1; A.prototype.constructor(); }]) { try { r.push(bad()); } catch (e) { r.push(e.name); } }
class Arr extends Array { sum() { return this.reduce((a, c) => a + c, 0); } } const arr = Arr.from([1, 2, 3]); r.push(arr.sum(), arr.map((x) => x * 2) instanceof Arr, arr.length, arr.filter(Boolean).constructor.name);
class E extends Error { constructor(m) { super(m, { cause: 'why' }); this.name = 'E'; } } try { throw new E('boom'); } catch (e) { r.push(String(e), e.cause, e instanceof E, Object.keys(e)); }
const mixin = (Base) => class extends Base { mixed() { return 'mixed ' + super.toString(); } }; r.push(new (mixin(A))().mixed(), (class Named { }).name, (class { static name = 'own'; }).name, typeof A);
const Acc = class { static accessor = 1; static async *ag() { } 'quoted key' = 1; 42() { return 'n'; } }; r.push(new Acc()[42](), Object.keys(new Acc()), Acc.accessor);
r;
