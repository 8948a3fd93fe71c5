// The peers that are measured, and how to open one.
import { readFileSync } from "node:fs";

/** All peers in the order of the table; an optional one may be left out where it does not install. */
export const roster = [
  { name: "quickjs-wasi" },
  { name: "quickjs-emscripten" },
  { name: "experimental-ai-sdk-code-mode" },
  { name: "isolated-vm", optional: true, nodeFlags: ["--no-node-snapshot"] },
];

/** The roster entry of that name. */
export function find(name) {
  const entry = roster.find((peer) => peer.name === name);
  if (entry === undefined) {
    throw new Error(`no peer ${name}; there are ${roster.map((peer) => peer.name).join(", ")}`);
  }
  return entry;
}

/** The version that is installed, from the package itself. */
export function version(name) {
  const path = new URL(`node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(readFileSync(path, "utf8")).version;
}

/**
 * Loads a peer and readies what it needs once. The result has run(source), which runs one cell in a fresh sandbox and
 * gives its value, disposal included; a peer with snapshots also has suspend(source), which gives {value, bytes}.
 */
export async function open(name) {
  const { open: openPeer } = await import(`./peers/${find(name).name}.mjs`);
  return openPeer();
}
