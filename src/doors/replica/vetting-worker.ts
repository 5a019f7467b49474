import { createRequire } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import type * as Loro from "loro-crdt";
import type { FromVetting, ToVetting, VettingStart } from "./vetting-messages.ts";
import { wasm, type WasmModule } from "./web-assembly.ts";

/**
 * Where bytes of replicas are imported first. Whatever they do to Loro, they do here: to a copy, in a thread that
 * is thrown away afterwards.
 */

const { module, current } = workerData as VettingStart;
let memory: { readonly buffer: ArrayBuffer } | undefined;
const { Instance } = wasm;
// Loro would compile what it finds on disk, and that has no limit to its memory.
Object.assign(wasm, {
  Module: function cappedModule() {
    return module;
  },
  Instance: function observedInstance(compiled: WasmModule, imports: object) {
    const instance = new Instance(compiled, imports);
    ({ memory } = instance.exports);
    return instance;
  },
});
const { LoroDoc } = createRequire(import.meta.url)("loro-crdt") as typeof Loro;

const shadows = new Map<number, Loro.LoroDoc>();

parentPort!.on("message", (message: ToVetting) => {
  switch (message.kind) {
    case "open": {
      const doc = new LoroDoc();
      doc.import(message.bytes);
      close(message.shadow);
      shadows.set(message.shadow, doc);
      break;
    }
    case "advance":
      for (const update of message.updates) shadows.get(message.shadow)?.import(update);
      break;
    case "close":
      close(message.shadow);
      break;
    case "vet":
      Atomics.store(current, 0, message.id);
      answer(vet(message));
      Atomics.store(current, 0, 0);
      break;
  }
});

function vet({
  id,
  shadow,
  peer,
  counter,
  bytes,
}: Extract<ToVetting, { kind: "vet" }>): FromVetting {
  const refused = (why: string): FromVetting => ({ id, memory: size(), refused: why });
  const doc = shadows.get(shadow);
  if (doc === undefined) return refused("there is no shadow of the document");
  try {
    const { success, pending } = doc.import(bytes);
    if (pending !== null) return refused("it is made on top of operations that are not here");
    const span = success.get(peer as Loro.PeerID);
    if (success.size !== 1 || span === undefined) {
      return refused("it has to bring operations of the peer that was granted, and of no other");
    }
    if (span.start !== counter) return refused(`its operations do not begin with ${counter}`);
    const length = span.end - span.start;
    const changes = doc.exportJsonInIdSpan({ peer: peer as Loro.PeerID, counter, length });
    return { id, memory: size(), changes };
  } catch (error) {
    // Loro's own refusals are texts. Anything else came from below: a trap, or a stack that ended.
    return typeof error === "string" ? refused(error) : { id, trap: String(error) };
  }
}

function answer(message: FromVetting): void {
  parentPort!.postMessage(message);
}

function close(shadow: number): void {
  shadows.get(shadow)?.free();
  shadows.delete(shadow);
}

function size(): number {
  return memory?.buffer.byteLength ?? 0;
}
