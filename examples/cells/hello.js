// Find a tool, look at what it takes, call it.
const [tool] = await tools.search("current date and time");
const { parameters } = await tools.describe(tool.id);
console.log(tool.id, "takes", Object.keys(parameters.properties).join(", "));

const zones = ["Europe/Berlin", "America/New_York", "Asia/Tokyo"];
const clocks = await Promise.all(zones.map((timeZone) => tools.call(tool.id, { timeZone })));
for (const clock of clocks) {
  text(clock.time.slice(11, 16) + "  " + clock.timeZone);
}
