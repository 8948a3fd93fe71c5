function* count(n) { for (let i = 0; i < n; i++) { const got = yield i; if (got) n += got; } return 'end'; }
function* both() { yield* [1, 2]; const r = yield* count(2); yield r; }
const g = count(2);
const log = [g.next(), g.next(3), g.next(), g.return('cut'), g.next()];
const guarded = (function* () { try { yield 1; yield 2; } finally { log.push('finally'); } })();
guarded.next(); guarded.return(9);
const thrown = (function* () { try { yield 1; } catch (e) { yield 'caught ' + e; } })();
thrown.next(); log.push(thrown.throw('x'));
const lazy = { *[Symbol.iterator]() { let a = 0, b = 1; for (;;) { yield a; [a, b] = [b, a + b]; } } };
const fib = []; for (const x of lazy) { if (x > 200) break; fib.push(x); }
[log, [...both()], fib, Object.prototype.toString.call(g), typeof g.next];
