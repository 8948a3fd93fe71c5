const log = [];
const later = (v) => new Promise((r) => Promise.resolve().then(() => r(v)));
async function a(x) { log.push('a' + x); const y = await later(x + 1); log.push('b' + y); if (y > 2) throw new RangeError('too big ' + y); return y; }
(async () => {
  const rs = await Promise.allSettled([a(1), a(2), a(5)]);
  let caught; try { await a(9); } catch (e) { caught = e.name + e.message; }
  const [p, q] = [await Promise.race([later(1), later(2)]), await Promise.any([Promise.reject(1), later(3)])];
  let agg; try { await Promise.any([Promise.reject('x'), Promise.reject('y')]); } catch (e) { agg = [e.name, e.errors]; }
  log.push(await null, await { then(f) { f('thenable'); } });
  return [rs, caught, p, q, agg, log];
})();
