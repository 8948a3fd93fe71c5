Object.getOwnPropertyNames(globalThis).sort();
