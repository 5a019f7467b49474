import { createHmac, timingSafeEqual } from "node:crypto";
import { KumikoError } from "../../base/index.ts";
import type { Kernel } from "../../kernel/index.ts";

export interface Grant {
  readonly peer: string;
  readonly secret: string;
}

/** Who writes as a peer now. */
export interface PeerHolder {
  /** Another connection goes on as the peer; resolves when nothing of this one's is under way any more. */
  taken(): Promise<void>;
}

/**
 * Who may write as which peer. A peer is one actor's and one replica instance's, for good: its secret is made of all
 * of them with a key that the kernel keeps, so that nothing has to be kept for each. It lives on one connection
 * at a time, and whoever comes with the secret takes it over.
 */
export class Peers {
  /** The last of those who came for a peer; each of them waits for the one before. */
  readonly #live = new Map<string, PeerHolder>();

  async grant(kernel: Kernel, actor: string, instance: string): Promise<Grant> {
    const peer = kernel.replicas.newPeer();
    return { peer, secret: await secretOf(kernel, peer, actor, instance) };
  }

  /** Refuses whoever is not the one it was granted to. */
  async check(kernel: Kernel, grant: Grant, actor: string, instance: string): Promise<void> {
    const wanted = Buffer.from(await secretOf(kernel, grant.peer, actor, instance));
    const given = Buffer.from(grant.secret);
    if (given.length === wanted.length && timingSafeEqual(given, wanted)) return;
    throw new KumikoError(
      "forbidden",
      `The peer ${grant.peer} was granted to somebody else. Come without one to be granted a new one.`,
      { peer: grant.peer },
    );
  }

  /** Takes a peer; whoever had it is told and has finished when this resolves. */
  async take(kernel: Kernel, peer: string, holder: PeerHolder): Promise<Disposable> {
    const key = `${kernel.id} ${peer}`;
    const earlier = this.#live.get(key);
    this.#live.set(key, holder);
    await earlier?.taken();
    return {
      [Symbol.dispose]: () => {
        if (this.#live.get(key) === holder) this.#live.delete(key);
      },
    };
  }
}

async function secretOf(
  kernel: Kernel,
  peer: string,
  actor: string,
  instance: string,
): Promise<string> {
  const key = await kernel.replicas.secret();
  const named = JSON.stringify([kernel.id, peer, actor, instance]);
  return createHmac("sha256", key).update(named).digest("base64url");
}
