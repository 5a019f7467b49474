/** Opens and disposes documents one after the other and prints by how many bytes the process grew. */
import { BlockDocument } from "../../src/blocks/index.ts";

const DOCUMENTS = 10_000;
const WARM_UP = 1_000;

function openAndDispose(count: number): void {
  for (let number = 0; number < count; number++) {
    using document = BlockDocument.create({
      peer: "7",
      baseline: {
        text: `Document ${number}\n`.repeat(40),
        stamp: { actor: "disk", edit: "load", time: 0 },
      },
    });
    document.birth({ actor: "system", edit: "birth", time: 1 });
    document.commit([{ at: 0, remove: 0, insert: "x" }], { actor: "ann", edit: "typing", time: 2 });
    document.exportSince();
  }
}

function residentBytes(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().rss;
}

openAndDispose(WARM_UP);
const before = residentBytes();
openAndDispose(DOCUMENTS);
process.stdout.write(String(residentBytes() - before));
