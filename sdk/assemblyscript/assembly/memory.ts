import { Memory } from "@extism/as-pdk";

/** Puts text into the memory that plugin and host share, as UTF-8. Memory.allocateString would ask the host once for each
 * byte. */
export function share(text: string): Memory {
  const bytes = Uint8Array.wrap(String.UTF8.encode(text));
  const block = Memory.allocate(bytes.length);
  block.store(bytes);
  return block;
}
