const state = { user: "ada", items: [1, 2, 3, 4, 5] };
const reply = await tools.call("cloister:core:echo", { n: state.items.length });
let total = reply.n;
for (const item of state.items) {
  total += item;
}
return { user: state.user, total };
