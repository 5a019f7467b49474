import type { Follower, Kernel, OpenedReplica, ReplicaFrame } from "../../kernel/index.ts";
import { encodeServerFrame } from "../../protocol/index.ts";
import type { Shadow, Vetting } from "./vetting.ts";

/** The shadow of one block of one kernel, for all connections that edit it. */
export class WatchedBlock implements Follower, Disposable {
  readonly shadow: Shadow;
  readonly #kernel: Kernel;
  readonly #block: string;
  #opened: OpenedReplica | undefined;

  constructor(vetting: Vetting, kernel: Kernel, block: string) {
    this.#kernel = kernel;
    this.#block = block;
    this.shadow = vetting.shadow(() => this.#snapshot());
  }

  frame({ updates }: ReplicaFrame): void {
    this.shadow.advance(updates);
  }

  ended(): void {
    this.#opened = undefined;
    this.shadow.forget();
  }

  [Symbol.dispose](): void {
    this.#opened?.[Symbol.dispose]();
    this.shadow[Symbol.dispose]();
  }

  /** Whatever comes behind it is told to the shadow. */
  async #snapshot(): Promise<Uint8Array> {
    this.#opened?.[Symbol.dispose]();
    this.#opened = await this.#kernel.replicas.open(this.#block, this);
    return this.#opened.bytes;
  }
}

const encoded = new WeakMap<ReplicaFrame, Uint8Array>();

/** The same bytes for everybody, made once. */
export function updateFrame(frame: ReplicaFrame): Uint8Array {
  const known = encoded.get(frame);
  if (known !== undefined) return known;
  const { block, fromVersion, toVersion, changes } = frame;
  const updates = frame.updates.map(({ bytes, from }) => ({ bytes, peer: from?.peer }));
  const bytes = encodeServerFrame({
    kind: "update",
    block,
    fromVersion,
    toVersion,
    updates,
    changes,
  });
  encoded.set(frame, bytes);
  return bytes;
}
