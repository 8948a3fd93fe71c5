const calls = [];
for (let n = 0; n < 256; n++) {
  calls.push(tools.call("cloister:core:echo", { n, size: 1024 }));
}
const replies = await Promise.all(calls);
let sum = 0;
let chars = 0;
for (const reply of replies) {
  sum += reply.n;
  chars += reply.text.length;
}
return { sum, chars };
