const log = [];
const tick = (n) => Promise.resolve().then(() => log.push(n));
(async () => { log.push('start'); await undefined; log.push('after await'); })();
Promise.resolve().then(() => { log.push(1); queue(); }).then(() => log.push(3));
function queue() { Promise.resolve().then(() => log.push('inner')); }
tick(2);
Promise.reject(new Error('r')).catch((e) => log.push(e.message)).finally(() => log.push('fin'));
log.push('sync');
(async () => { for (let i = 0; i < 6; i++) await 0; return log; })();
