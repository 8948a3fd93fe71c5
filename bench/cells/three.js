const a = await tools.call("cloister:core:echo", { n: 1 });
const b = await tools.call("cloister:core:echo", { n: a.n + 1 });
const c = await tools.call("cloister:core:echo", { n: b.n + 1 });
return { sum: a.n + b.n + c.n };
