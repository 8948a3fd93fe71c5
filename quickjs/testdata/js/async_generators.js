async function* ticks(n) { try { for (let i = 0; i < n; i++) { await null; yield i; } } finally { log.push('closed'); } }
const log = [];
(async () => {
  for await (const t of ticks(5)) { log.push(t); if (t === 2) break; }
  for await (const v of [Promise.resolve('p'), 'q']) log.push(v);
  const it = ticks(2);
  log.push(await it.next(), await it.return('r'), await it.next());
  const all = await Promise.all([1, 2, 3].map(async function (x) { await null; return x * x; }));
  const bad = (async function* () { yield Promise.reject(new TypeError('in generator')); })();
  try { await bad.next(); } catch (e) { log.push(String(e)); }
  return [log, all, Object.prototype.toString.call(ticks(1))];
})();
