// Measures every peer and prints a table, or with --json an array of {peer, version, case, unit, p50, p90, n}.
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { find, roster, version } from "./roster.mjs";
import { summary } from "./stats.mjs";
import { table } from "./table.mjs";

const NODE_MAJOR = "24";
const WORKER_LIMIT_MS = 300_000;
const START_LIMIT_MS = 20_000;

const { values: flags } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    peer: { type: "string", multiple: true },
    box: { type: "string", default: "2000" },
    cells: { type: "string", default: "2000" },
    width: { type: "string", default: "32" },
  },
});

function positive(name) {
  const number = Number(flags[name]);
  if (!Number.isSafeInteger(number) || number < 1) {
    throw new Error(`--${name} must be a positive integer, not ${flags[name]}`);
  }
  return number;
}

/** Runs a script of this folder under this node; gives its output and the time until the first byte of it. */
function launch(script, entry, argument, limitMs) {
  const path = fileURLToPath(new URL(script, import.meta.url));
  return new Promise((resolve, reject) => {
    const before = performance.now();
    const child = spawn(process.execPath, [...(entry.nodeFlags ?? []), "--disable-warning=ExperimentalWarning", path, argument], {
      stdio: ["ignore", "pipe", "inherit"],
      timeout: limitMs,
      killSignal: "SIGKILL",
    });
    let firstMs;
    let output = "";
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (text) => {
      firstMs ??= performance.now() - before;
      output += text;
    });
    child.on("error", reject);
    child.on("close", (code, signal) => {
      if (code === 0 && firstMs !== undefined) {
        resolve({ output, firstMs });
      } else {
        reject(new Error(`${script} for ${entry.name} ended with ${signal ?? `code ${code}`}`));
      }
    });
  });
}

async function starts(entry, boxMs) {
  const samples = [];
  const until = performance.now() + boxMs;
  while (samples.length < 5 || performance.now() < until) {
    samples.push((await launch("first.mjs", entry, entry.name, START_LIMIT_MS)).firstMs);
  }
  return { peer: entry.name, version: version(entry.name), case: "start", unit: "ms", ...summary(samples) };
}

async function measure(entry, settings) {
  process.stderr.write(`measuring ${entry.name} (load ${loadavg()[0].toFixed(2)})\n`);
  await launch("first.mjs", entry, entry.name, START_LIMIT_MS);
  const argument = JSON.stringify({ peer: entry.name, ...settings });
  const { output } = await launch("worker.mjs", entry, argument, WORKER_LIMIT_MS);
  return [...JSON.parse(output), await starts(entry, settings.boxMs)];
}

async function main() {
  const settings = { boxMs: positive("box"), cells: positive("cells"), width: positive("width") };
  const entries = flags.peer === undefined ? roster : flags.peer.map(find);
  const rows = [];
  for (const entry of entries) {
    try {
      rows.push(...(await measure(entry, settings)));
    } catch (error) {
      process.stderr.write(`${entry.name} is not in the figures: ${error.message}\n`);
      if (!entry.optional) {
        process.exitCode = 1;
      }
    }
  }
  if (flags.json) {
    process.stdout.write(`${JSON.stringify(rows, null, 1)}\n`);
    return;
  }
  const machine = cpus();
  console.log(`Node ${process.version}, ${machine.length} × ${machine[0].model}\n`);
  console.log(table(rows));
}

/** Starts this script again under the Node that the lock file pins. */
function underPinnedNode() {
  const node = fileURLToPath(new URL("node_modules/.bin/node", import.meta.url));
  if (!existsSync(node)) {
    throw new Error(`Node ${NODE_MAJOR} is needed and node_modules/.bin/node is missing: run npm ci here, or start run.mjs with a Node ${NODE_MAJOR}`);
  }
  const again = spawnSync(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: "inherit" });
  process.exitCode = again.status ?? 1;
}

try {
  if (process.versions.node.split(".")[0] === NODE_MAJOR) {
    await main();
  } else {
    underPinnedNode();
  }
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
