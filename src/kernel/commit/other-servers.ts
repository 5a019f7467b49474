import { damaged, KumikoError } from "../../base/index.ts";
import { decodeBody } from "../commit-body.ts";
import { type Feed, toEvent } from "../flow/feed.ts";
import type { LiveDocuments } from "../live-documents.ts";
import type { Store } from "../ports.ts";
import { decoding, isDamage } from "../quarantine.ts";

/** Commits read at once. */
const PAGE = 256;

export interface OtherServersPorts {
  readonly store: Store;
  readonly documents: LiveDocuments;
  readonly feed: Feed;
  /** A block was changed elsewhere. */
  heard(block: string): void;
}

/**
 * What other servers wrote to the same store: told here in its place among our own commits, and no document
 * that lacks it is built on any more. Several may ask at once; each commit is told once.
 */
export class OtherServers {
  readonly #ports: OtherServersPorts;

  constructor(ports: OtherServersPorts) {
    this.#ports = ports;
  }

  /** Everything that is there now. */
  async hearAll(): Promise<void> {
    let head: number;
    try {
      head = await this.#ports.store.head();
    } catch (error) {
      // Where the journal ends cannot be read: nothing newer is known, and whoever writes is told.
      if (isDamage(error)) return;
      throw error;
    }
    await this.hear(head);
  }

  /** Whether everything up to a position was told. */
  heard(position: number): boolean {
    return this.#ports.feed.head >= position;
  }

  /** Resolves when everything up to a position was told. */
  async hear(position: number): Promise<void> {
    const { feed, documents } = this.#ports;
    try {
      while (feed.head < position) await this.#hearSome(position);
    } catch (error) {
      if (!(error instanceof KumikoError)) throw error;
      // It cannot be told, but it is in the journal: whoever reads on finds it there, or what is wrong.
      documents.forgetAll();
      if (feed.head < position) feed.jump(position);
    }
  }

  async #hearSome(position: number): Promise<void> {
    const { store, feed, documents } = this.#ports;
    const commits = await store.changesSince(feed.head, Math.min(PAGE, position - feed.head));
    if (commits.length === 0) throw damaged(`the journal before position ${position} is missing`);
    for (const commit of commits) {
      if (commit.position <= feed.head) continue;
      feed.publish(decoding("a commit", () => toEvent(commit, decodeBody(commit.body))));
      documents.outdate(commit.block, commit.version);
      this.#ports.heard(commit.block);
    }
  }
}
