// node --no-node-snapshot --test (or npm test): every peer gives the right values, and the figures are computed right.
import assert from "node:assert/strict";
import test from "node:test";
import { callJSON, check, names, source } from "./cells.mjs";
import { open, roster, version } from "./roster.mjs";
import { percentile, rate, rateSummary, sample, summary } from "./stats.mjs";
import { table } from "./table.mjs";

for (const { name, optional } of roster) {
  test(`${name} runs every cell`, async (t) => {
    let peer;
    try {
      peer = await open(name);
    } catch (error) {
      if (!optional) {
        throw error;
      }
      t.skip(`${name} has no build for this platform: ${error.message}`);
      return;
    }
    assert.match(version(name), /^\d+\.\d+\.\d+/);
    for (const cell of names) {
      check(cell, await peer.run(source(cell)));
    }
    await assert.rejects(peer.run('throw new TypeError("from the cell");'), /from the cell/);
    await assert.rejects(peer.run('return await tools.call("cloister:core:nothing", { n: 1 });'));
    check("one", await peer.run("globalThis.left = 1; return 2;"));
    assert.equal(await peer.run("return typeof left;"), "undefined", "a cell saw what an earlier one left");
    if (peer.suspend !== undefined) {
      const { value, bytes } = await peer.suspend(source("suspend"));
      check("suspend", value);
      assert.ok(bytes.length > 64 * 1024);
      await assert.rejects(peer.suspend(source("one")), /did not stop at a call/);
    }
  });
}

test("a wrong value is refused", () => {
  assert.throws(() => check("one", 3), /want 2/);
  assert.throws(() => check("three", { sum: 6, more: 1 }), /want/);
  assert.throws(() => check("no such cell", 1), /want undefined/);
});

test("only the echo tool can be called", async () => {
  await assert.rejects(callJSON("cloister:core:other", "{}"), /unknown tool/);
  assert.equal(await callJSON("cloister:core:echo", '{"n":7}'), '{"n":7}');
  assert.equal(await callJSON("cloister:core:echo", '{"n":7,"size":3}'), '{"n":7,"text":"xxx"}');
});

test("percentiles are by nearest rank", () => {
  const ten = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1];
  assert.equal(percentile(ten, 0.5), 5);
  assert.equal(percentile(ten, 0.9), 9);
  assert.equal(percentile([4], 0.9), 4);
  assert.throws(() => percentile([], 0.5), /no samples/);
  assert.deepEqual(summary([3, 1, 2]), { p50: 2, p90: 3, n: 3 });
  assert.deepEqual(rateSummary([100, 300, 200]), { p50: 200, p90: 100, n: 3 });
});

test("sampling and rates count what ran", async () => {
  let ran = 0;
  const samples = await sample(async () => void ran++, 1);
  assert.ok(samples.length >= 5 && ran > samples.length);
  ran = 0;
  let now = 0;
  let most = 0;
  const perSecond = await rate(
    async () => {
      most = Math.max(most, ++now);
      await null;
      now--;
      ran++;
    },
    { count: 100, width: 8, limitMs: 60_000 },
  );
  assert.deepEqual([ran, most], [100, 8]);
  assert.ok(perSecond > 0);
  await assert.rejects(
    sample(async () => {
      throw new Error("wrong value");
    }, 1),
    /wrong value/,
  );
});

test("the table groups rows by case", () => {
  const row = { version: "1.0.0", unit: "ms", p50: 1, p90: 22.25, n: 9 };
  const text = table([
    { peer: "a", case: "one", ...row },
    { peer: "a", case: "two", ...row },
    { peer: "b", case: "one", ...row },
  ]);
  const heads = text.split("\n").map((line) => line.split(/\s+/).slice(0, 2).join(" "));
  assert.deepEqual(heads, ["case peer", "one a", "one b", "two a"]);
  assert.match(text, /1\.000\s+22\.3\s+9$/);
});
