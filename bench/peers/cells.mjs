// The cells under bench/cells, the host tool that they call, and the check of what they return.
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";

const folder = new URL("../cells/", import.meta.url);
const expected = JSON.parse(readFileSync(new URL("expected.json", folder), "utf8"));

/** The id under which cells reach the host tool. */
export const ECHO = "cloister:core:echo";

/** What every peer gets: as much memory and time as one of our own cells may be given. */
export const LIMITS = { memoryBytes: 64 * 1024 * 1024, timeoutMs: 30_000 };

/** The names of all cells, in the order of expected.json. */
export const names = Object.keys(expected);

/** The source of a cell: the body of an async function. */
export function source(name) {
  return readFileSync(new URL(`${name}.js`, folder), "utf8");
}

/** Throws unless value is what the cell must return. */
export function check(name, value) {
  if (!isDeepStrictEqual(value, expected[name])) {
    throw new Error(`cell ${name} returned ${JSON.stringify(value)}, want ${JSON.stringify(expected[name])}`);
  }
}

/** The host tool: gives n back, with a text of size characters when a size is asked for. */
export async function echo({ n, size }) {
  return size === undefined ? { n } : { n, text: "x".repeat(size) };
}

/** Runs a host tool for a peer whose bridge carries JSON text. */
export async function callJSON(id, inputJSON) {
  if (id !== ECHO) {
    throw new Error(`unknown tool ${id}`);
  }
  return JSON.stringify(await echo(JSON.parse(inputJSON)));
}
