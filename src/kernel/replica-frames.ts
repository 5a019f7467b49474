import { KumikoError } from "../base/index.ts";
import type { Splice } from "../blocks/index.ts";
import type { CommitBody } from "./commit-body.ts";
import type { LiveDocument } from "./live-documents.ts";
import type { StoredCommit } from "./ports.ts";

/** Loro's bytes for one stretch of versions. */
export interface ReplicaUpdate {
  readonly bytes: Uint8Array;
  /** Whose replica sent it, and how many of its operations there are with it; undefined when it was made here. */
  readonly from: { readonly peer: string; readonly counter: number } | undefined;
}

export interface ReplicaChange {
  readonly version: number;
  readonly actor: string;
  readonly edit: string;
  readonly splices: readonly Splice[];
}

/** What a block's replicas are told: on disk, in order, the same for all of them. */
export interface ReplicaFrame {
  readonly block: string;
  readonly fromVersion: number;
  readonly toVersion: number;
  readonly updates: readonly ReplicaUpdate[];
  readonly changes: readonly ReplicaChange[];
}

/** Who keeps a replica. It is called after the commit, never in it, and must neither wait nor throw. */
export interface Follower {
  frame(frame: ReplicaFrame): void;
  /** Nothing more comes; the copy is to be thrown away when the code is `resync`. */
  ended(reason: KumikoError): void;
}

export interface Committed {
  readonly commit: Pick<StoredCommit, "block" | "version" | "actor" | "edit">;
  readonly change: CommitBody["change"];
}

/** One block that somebody follows, and what its followers have not been given yet. */
export class FollowedBlock {
  readonly block: string;
  readonly followers = new Set<Follower>();
  /** Where its followers stand. */
  version: number;
  /** At least so many operations of each peer are theirs. */
  readonly counters: Map<string, number>;
  /** Whose operations a version brought. */
  readonly pushed = new Map<number, { readonly peer: string; readonly counter: number }>();
  waiting: Committed[] = [];
  /** Its followers only read a document that was never born: at its birth it becomes another one. */
  lent = false;
  /** The copy that was made last, for as long as somebody is being sent it: many who come at once share one. */
  copy: { readonly version: number; readonly bytes: WeakRef<Uint8Array> } | undefined;
  /** Somebody is making a frame of more than what waits here. */
  catchingUp = false;

  constructor(block: string, version: number, counters: Map<string, number>) {
    this.block = block;
    this.version = version;
    this.counters = counters;
  }

  /** Gives everybody all that waits; false when the document in memory cannot say what it was. */
  take(live: LiveDocument | undefined): boolean {
    const { waiting } = this;
    if (live === undefined) return false;
    if (waiting.some(({ commit }, index) => commit.version !== this.version + 1 + index)) {
      return false;
    }
    const updates = this.#updates(live, waiting);
    if (updates === undefined) return false;
    this.give(waiting.at(-1)!.commit.version, updates, waiting.map(changeOf));
    return true;
  }

  /** Moves everybody to a version. */
  give(
    version: number,
    updates: readonly ReplicaUpdate[],
    changes: readonly ReplicaChange[],
  ): void {
    const { block, version: fromVersion } = this;
    this.waiting = this.waiting.filter(({ commit }) => commit.version > version);
    for (const each of this.pushed.keys()) if (each <= version) this.pushed.delete(each);
    this.version = version;
    const frame = { block, fromVersion, toVersion: version, updates, changes };
    for (const follower of this.followers) follower.frame(frame);
  }

  end(reason: KumikoError): void {
    const followers = [...this.followers];
    this.followers.clear();
    for (const follower of followers) follower.ended(reason);
  }

  /** One export for each run of versions that were made here; imports bring their bytes along. */
  #updates(live: LiveDocument, waiting: readonly Committed[]): ReplicaUpdate[] | undefined {
    const updates: ReplicaUpdate[] = [];
    const learnt = new Map<string, number>();
    let from = this.version;
    const exportRun = (until: number): boolean => {
      if (until === from) return true;
      const written = live.document.exportWritten(from, until);
      if (written === undefined) return false;
      if (written.bytes !== undefined) updates.push({ bytes: written.bytes, from: undefined });
      learnt.set(written.peer, written.counter);
      return true;
    };
    for (const { commit, change } of waiting) {
      if (change.kind !== "import") continue;
      if (!exportRun(commit.version - 1)) return undefined;
      const pushed = this.pushed.get(commit.version);
      updates.push({ bytes: change.update, from: pushed });
      if (pushed !== undefined) learnt.set(pushed.peer, pushed.counter);
      from = commit.version;
    }
    if (!exportRun(waiting.at(-1)!.commit.version)) return undefined;
    for (const [peer, counter] of learnt) this.counters.set(peer, counter);
    return updates;
  }
}

function changeOf({ commit, change }: Committed): ReplicaChange {
  const { version, actor, edit } = commit;
  return { version, actor, edit, splices: "splices" in change ? change.splices : [] };
}
