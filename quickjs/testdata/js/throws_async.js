(async function top() { await null; async function inner() { await 1; throw new TypeError('async boom'); } await inner(); })();
