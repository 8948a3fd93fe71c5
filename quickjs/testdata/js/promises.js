const out = [];
const p = new Promise((res, rej) => { res(1); rej(2); res(3); });
const self = Promise.withResolvers();
let cycle; const c = new Promise((r) => { cycle = r; }); cycle(c);
class Mine extends Promise { static get [Symbol.species]() { return Promise; } }
const m = new Mine((r) => r('mine'));
self.resolve(Promise.try(() => { throw new SyntaxError('tried'); }));
Promise.all([
  p, c.catch((e) => e.constructor.name), m.then((v) => [v, m instanceof Mine]), m.then(() => 0) instanceof Mine,
  self.promise.then(null, (e) => e.message), Promise.resolve(1).then(2).then((x) => x + 1), new Promise(() => { throw 'exec'; }).catch((e) => e),
  Promise.all([]), Promise.allSettled([Promise.reject(0)]), Promise.race([Promise.resolve('a'), 'b']),
]);
