// Walks all objects that a cell can get at, from the global object and from what
// the guest API gives and throws, and lists every function: the shortest path to
// it, its name and its length.
const { ownKeys, getPrototypeOf, getOwnPropertyDescriptor } = Reflect;
const seen = new Map(); // object -> path
const functions = [];
let queue = [];

function visit(value, path) {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return;
  if (seen.has(value) || own.has(value)) return;
  seen.set(value, path);
  if (typeof value === 'function') functions.push(value);
  queue.push(value);
}

function properties(value, path) {
  for (const key of ownKeys(value)) {
    const name = typeof key === 'symbol' ? '[' + key.description + ']' : '.' + key;
    const d = getOwnPropertyDescriptor(value, key);
    if (d === undefined) continue;
    if ('value' in d) visit(d.value, path + name);
    else { visit(d.get, path + name + '<get>'); visit(d.set, path + name + '<set>'); }
  }
  visit(getPrototypeOf(value), path + '<proto>');
}

function contents(value, path) {
  if (value instanceof Map) for (const [k, v] of value) { visit(k, path + '<key>'); visit(v, path + '<value>'); }
  if (value instanceof Set) for (const v of value) visit(v, path + '<item>');
}

function walk() {
  while (queue.length > 0) {
    const now = queue;
    queue = [];
    for (const value of now) {
      const path = seen.get(value);
      properties(value, path);
      contents(value, path);
    }
  }
}

// What is the walk's own, and must not be listed.
const own = new Set([seen, functions, queue, visit, properties, contents, walk]);
own.add(own);

visit(globalThis, 'globalThis');
walk();

// What is not reached by properties: functions of each kind, iterators, and what
// they return and throw.
const attempt = (path, f) => {
  let value;
  try { value = f(); } catch (e) { visit(e, path + '<thrown>'); visit(e && e.stack, path + '<stack>'); walk(); return; }
  visit(value, path + '<returned>');
  walk();
  return value;
};
own.add(attempt);
for (const [path, f] of Object.entries({
  function: () => (function () { }).constructor, async: () => (async () => { }).constructor, generator: () => (function* () { })(),
  asyncGenerator: () => (async function* () { })(), array: () => [][Symbol.iterator](), string: () => ''[Symbol.iterator](), map: () => new Map().entries(),
  set: () => new Set().entries(), regexp: () => 'x'.matchAll(/x/g), match: () => 'x'.match(/(?<n>x)/d), helper: () => [].values().map((x) => x),
  wrapped: () => Iterator.from({ next() { } }), arguments: () => (function () { return arguments; })(), strict: () => (function () { 'use strict'; return arguments; })(),
  proxy: () => Proxy.revocable({}, {}), resolvers: () => Promise.withResolvers(), eval: () => (0, Function)('1'), nothing: () => null.x,
  missing: () => undefinedName, overflow: () => { const f = () => f(); f(); }, template: () => ((s) => s)`x${1}`, disposable: () => new DisposableStack(),
  finalization: () => new FinalizationRegistry(() => { }), weak: () => new WeakRef({}), raw: () => JSON.rawJSON('1'), buffer: () => new ArrayBuffer(1, { maxByteLength: 2 }),
})) attempt('make ' + path, f);

// The guest API, called well and badly. Its promises are followed below.
const promises = [];
own.add(promises);
const bad = { toJSON() { throw new TypeError('bad'); }, toString() { throw new TypeError('bad'); } };
const arguments_ = { none: [], text: ['x'], object: [{}], bad: [bad], symbol: [Symbol('s')], big: [1n], function: [() => 1], proxy: [new Proxy({}, {})], two: ['x', { limit: 1 }] };
own.add(bad); own.add(arguments_);
for (const name of ['tools', 'API', 'MCP', 'namespaces', 'console', 'text', 'json', 'yield_control', 'structuredClone', 'ALL_TOOLS']) {
  const target = globalThis[name];
  if (target === undefined) continue;
  const list = typeof target === 'function' ? [['', target]] : ownKeys(target).filter((k) => typeof target[k] === 'function').map((k) => ['.' + String(k), target[k]]);
  for (const [part, f] of list) {
    for (const [kind, args] of Object.entries(arguments_)) {
      const path = name + part + '(' + kind + ')';
      const value = attempt(path, () => f(...args));
      if (value instanceof Promise) promises.push([path, value]);
      attempt('new ' + path, () => new f(...args));
      attempt(path + '.call', () => f.call(globalThis, ...args));
    }
  }
}

const finish = () => functions
  .map((f) => seen.get(f) + '\t' + (typeof f.name === 'string' ? f.name : '?') + '/' + f.length)
  .sort().join('\n') + '\n';
own.add(finish);
return Promise.race([
  Promise.all(promises.map(([path, p]) => p.then((v) => visit(v, path + '<value>'), (e) => visit(e, path + '<reason>')))),
  (async () => { for (let i = 0; i < 100; i++) await null; })(), // calls that no host answers stay open
]).then(() => { walk(); return finish(); });
