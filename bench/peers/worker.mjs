// Measures one peer in a warm process of its own and writes its rows as a JSON array.
// node worker.mjs '{"peer": "quickjs-wasi", "boxMs": 2000, "cells": 2000, "width": 32}'
import { gzipSync, zstdCompressSync } from "node:zlib";
import { check, source } from "./cells.mjs";
import { open, version } from "./roster.mjs";
import { rate, rateSummary, sample, summary } from "./stats.mjs";

const TIMED = ["one", "three", "fanout", "fib", "json", "sort", "strings"];
const ROUNDS = 3;
const ROUND_LIMIT_MS = 15_000;

const { peer: name, boxMs, cells, width } = JSON.parse(process.argv[2]);
const peer = await open(name);
const rows = [];

function add(label, unit, figures) {
  rows.push({ peer: name, version: version(name), case: label, unit, ...figures });
}

async function timed() {
  for (const cell of TIMED) {
    const text = source(cell);
    add(cell, "ms", summary(await sample(async () => check(cell, await peer.run(text)), boxMs)));
  }
}

async function snapshots() {
  const text = source("suspend");
  let bytes;
  const samples = await sample(async () => {
    const result = await peer.suspend(text);
    check("suspend", result.value);
    bytes = result.bytes;
  }, boxMs);
  add("suspend", "ms", summary(samples));
  add("snapshot-raw", "bytes", summary([bytes.length]));
  add("snapshot-gzip", "bytes", summary([gzipSync(bytes).length]));
  add("snapshot-zstd", "bytes", summary([zstdCompressSync(bytes).length]));
}

async function throughput() {
  const text = source("three");
  const cell = async () => check("three", await peer.run(text));
  await rate(cell, { count: 2 * width, width, limitMs: ROUND_LIMIT_MS });
  const rates = [];
  for (let round = 0; round < ROUNDS; round++) {
    rates.push(await rate(cell, { count: cells, width, limitMs: ROUND_LIMIT_MS }));
  }
  add("throughput", "cells/s", rateSummary(rates));
}

await timed();
if (peer.suspend !== undefined) {
  await snapshots();
}
await throughput();
process.stdout.write(JSON.stringify(rows));
