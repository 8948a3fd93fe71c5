// One cell in a new process: what the case "start" waits for. node first.mjs quickjs-wasi
import { check, source } from "./cells.mjs";
import { open } from "./roster.mjs";

const peer = await open(process.argv[2]);
const value = await peer.run(source("one"));
check("one", value);
process.stdout.write(`${JSON.stringify(value)}\n`);
