const r = [];
outer: for (let i = 0; i < 4; i++) { for (let j = 0; j < 4; j++) { if (j === 2) continue outer; if (i === 2) break outer; r.push(i * 10 + j); } }
block: { r.push('in'); if (r.length) break block; r.push('never'); } let n = 0; w: while (true) { do { n++; if (n > 5) break w; if (n % 2) continue w; } while (n < 100); }
r.push(n); const fs = []; for (let i = 0; i < 3; i++) fs.push(() => i); for (var v = 0; v < 3; v++) fs.push(() => v); r.push(fs.map((f) => f()));
switch (3) { case 1: r.push('one'); default: r.push('default'); case 2: r.push('two'); break; case 4: r.push('four'); } switch ('x') { case 'x': { const scoped = 1; r.push(scoped); } case 'y': r.push('fall'); }
for (const k in Object.assign(Object.create({ inherited: 1 }), { b: 1, 2: 1, a: 1, 1: 1 })) r.push(k); for (const k in 'ab') r.push(k); for (const k in null) r.push('never'); const o = { a: 1, b: 2, c: 3 }; for (const k in o) { r.push(k); delete o.b; }
for (const x of [1, 2, 3]) { if (x === 2) continue; r.push('of' + x); } function fin() { for (const x of [1, 2]) { try { return x; } finally { r.push('f' + x); continue; } } return 'end'; } r.push(fin());
let c = 0; do { c++; } while (c < 3); for (;;) { if (c++ > 5) break; } r.push(c); a: b: c2: for (; ;) break a; if (0) function hoisted() { } r.push(typeof hoisted); let i = 5; for (let i = 0, len = 2; i < len; i++); r.push(i); r.push(((x) => { for (x of [7]); return x; })(1));
r;
