// What a cell must not find. The host has switched the evaluator off before a
// cell runs, so the constructors of functions throw whoever reaches them; the
// names are removed so that nobody counts on them.
for (const name of ['eval', 'SharedArrayBuffer', 'Atomics', 'WebAssembly', 'performance', 'DOMException']) {
  delete globalThis[name];
}
// Doors to function objects on the stack.
delete Error.prepareStackTrace;
for (const name of ['caller', 'arguments', 'fileName', 'lineNumber', 'columnNumber']) {
  delete Function.prototype[name];
}
