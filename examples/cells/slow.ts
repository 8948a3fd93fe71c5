// Calls run side by side, and however long they take, the cell is waited for.
// With `--timeout 1s` it is suspended to a snapshot and resumed several times.
const started: number = (await tools.clock_now({})).unixMs;
const naps = [3000, 1500, 2500].map((ms) => tools.sleep({ ms }));
text("waiting for " + naps.length + " calls");
const slept: { slept: number }[] = await Promise.all(naps);
const took = (await tools.clock_now({})).unixMs - started;
return { slept: slept.reduce((sum, nap) => sum + nap.slept, 0), took };
