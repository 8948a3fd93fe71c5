// What holds without a server and without configuration.
const codes = [];
for (const call of [
  () => Issues.get(1),
  () => Issues.list("closed", { labels: ["bug"] }),
  () => Issues.list("closed", { state: "open" }),
]) {
  try {
    await call();
    codes.push("no failure");
  } catch (error) {
    codes.push(error.code);
  }
}
return { repository: Issues.repository, states: Issues.states, codes };
