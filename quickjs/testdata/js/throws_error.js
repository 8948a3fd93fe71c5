function thrower(depth) { if (depth === 0) throw new RangeError('deep ' + depth); return thrower(depth - 1); }
const o = { method() { return [1].map(() => thrower(2)); } };
o.method();
