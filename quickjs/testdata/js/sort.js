const r = [];
r.push([3, 1, 10, 2].sort(), [3, 1, 10, 2].sort((a, b) => a - b), ['b', undefined, 'a', , 'c'].sort(), [5, 1, 4].toSorted(), [1, 2, 3].toReversed(), [[2, 'a'], [1, 'b'], [2, 'c'], [1, 'd']].sort((x, y) => x[0] - y[0]));
let seed = 12345; const rnd = () => (seed = (seed * 1103515245 + 12345) % 2147483648); const big = Array.from({ length: 3000 }, rnd);
const s = big.slice().sort((a, b) => a - b); let ok = true; for (let i = 1; i < s.length; i++) ok &&= s[i - 1] <= s[i]; r.push(ok, s[0], s[2999], s.length);
const stable = Array.from({ length: 1000 }, (_, i) => ({ k: i % 7, i })).sort((a, b) => a.k - b.k); r.push(stable.every((x, i) => !i || stable[i - 1].k < x.k || stable[i - 1].i < x.i));
let calls = 0; try { [1, 2, 3].sort(() => { calls++; throw new Error('cmp'); }); } catch (e) { r.push(e.message, calls); } try { [1].sort('x'); } catch (e) { r.push(e.name); }
r.push(Array.prototype.sort.call({ length: 3, 0: 'c', 1: 'a', 2: 'b' }), [3, 2, 1].sort(() => 0), ['é', 'z', 'a', 'Z', 'É'].sort(), ['é', 'z', 'a'].sort((a, b) => a.localeCompare(b)), [true, false, null, 1n].sort().map(String));
const mutating = [5, 4, 3, 2, 1]; mutating.sort((a, b) => { mutating.length = 5; return a - b; }); r.push(mutating, [NaN, 3, 1].sort((a, b) => a - b).length, [-1, -2, 5].sort(), [,].sort().length, Object.keys([3, , 1].sort()));
r;
