import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { wasm, type WasmModule } from "./web-assembly.ts";

const PAGE = 64 * 1024;
/** The kind of the section that says how much memory a module may have. */
const MEMORY_SECTION = 5;
/** Of that section: one memory, with a minimum and no maximum. */
const UNLIMITED = 0;
const LIMITED = 1;

/**
 * Loro's WebAssembly with a limit to its memory. Nothing else holds a hostile update back: WebAssembly's memory is
 * not part of a thread's heap, and a few bytes can ask for all that the machine has.
 */
export async function cappedLoro(bytes: number): Promise<WasmModule> {
  const entry = createRequire(import.meta.url).resolve("loro-crdt");
  const unlimited = await readFile(join(dirname(entry), "loro_wasm_bg.wasm"));
  return wasm.compile(withMaximum(unlimited, Math.floor(bytes / PAGE)));
}

/** The same module, whose memory may grow to so many pages. */
function withMaximum(module: Uint8Array, pages: number): Uint8Array {
  let at = 8;
  while (at < module.length) {
    const kind = module[at]!;
    const size = readCount(module, at + 1);
    const content = size.next;
    const end = content + size.value;
    if (kind === MEMORY_SECTION) {
      const section = limited(module.subarray(content, end), pages);
      return Buffer.concat([module.subarray(0, at), section, module.subarray(end)]);
    }
    at = end;
  }
  throw new Error("Loro's WebAssembly has no memory of its own: its limit is to be set otherwise");
}

function limited(section: Uint8Array, pages: number): Uint8Array {
  const [count, kind] = section;
  if (count !== 1 || (kind !== UNLIMITED && kind !== LIMITED)) {
    throw new Error("Loro's WebAssembly has another kind of memory than is known here");
  }
  const { value: minimum } = readCount(section, 2);
  if (minimum > pages) throw new Error(`Loro needs ${minimum} pages to begin with, not ${pages}`);
  const content = [1, LIMITED, ...countBytes(minimum), ...countBytes(pages)];
  return Uint8Array.from([MEMORY_SECTION, ...countBytes(content.length), ...content]);
}

function readCount(bytes: Uint8Array, at: number): { value: number; next: number } {
  let value = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++]!;
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return { value, next: at };
  }
}

function countBytes(value: number): number[] {
  const bytes: number[] = [];
  for (; value > 0x7f; value = Math.floor(value / 0x80)) bytes.push((value % 0x80) | 0x80);
  return [...bytes, value];
}
