import { type BlockState, fromRow } from "./block-state.ts";
import { decodeBody } from "./commit-body.ts";
import { unknownBlock } from "./live-documents.ts";
import type { NewBlockRow, Store } from "./ports.ts";
import { decoding, type Quarantine } from "./quarantine.ts";
import { ReplayedText } from "./replayed-text.ts";

/** A block as it stands at one version. */
export interface BlockText {
  readonly state: BlockState;
  readonly version: number;
  readonly text: string;
}

/** Reads blocks from rest without building their documents: neither history nor Loro is woken. */
export class Reading {
  readonly #store: Store;
  readonly #quarantine: Quarantine;
  /** Told how many splices a reading had to make: many mean that a keyframe is due. */
  readonly #replayed: (block: string, splices: number) => void;

  constructor(
    store: Store,
    quarantine: Quarantine,
    replayed: (block: string, splices: number) => void,
  ) {
    this.#store = store;
    this.#quarantine = quarantine;
    this.#replayed = replayed;
  }

  /** The durable text and state of now: the keyframe and what was committed behind it. */
  async atRest(block: string): Promise<BlockText> {
    const read = await this.#quarantine.reading(block, async () => {
      const keyframe = await this.#quarantine.cached(block, () => this.#store.keyframe(block));
      // Asked for in this order: a row holds all that a keyframe's commits say, and commits that land
      // meanwhile bring their own.
      const row = await this.#store.row(block);
      if (row === undefined) return undefined;
      const commits = await this.#store.commitsOf(block, keyframe?.version ?? 0);
      return decoding("a commit", () => {
        const text = new ReplayedText(keyframe?.text ?? "");
        let last: NewBlockRow = row;
        for (const { version, body } of commits) {
          const made = decodeBody(body);
          text.apply(made.change);
          if (made.row !== undefined && version > row.version) last = made.row;
        }
        const version = commits.at(-1)?.version ?? keyframe?.version ?? 0;
        this.#replayed(block, text.splices);
        return { state: fromRow(last), version, text: text.toString() };
      });
    });
    if (read === undefined) throw unknownBlock(block);
    return read;
  }

  /** As of a position; undefined when the block did not exist yet. */
  async asOf(block: string, position: number): Promise<BlockText | undefined> {
    return this.#quarantine.reading(block, async () => {
      const commits = await this.#store.commitsOf(block, 0);
      return decoding("a commit", () => {
        const text = new ReplayedText("");
        let row: NewBlockRow | undefined;
        let version = 0;
        for (const commit of commits) {
          if (commit.position > position) break;
          const made = decodeBody(commit.body);
          text.apply(made.change);
          row = made.row ?? row;
          version = commit.version;
        }
        return row && { state: fromRow(row), version, text: text.toString() };
      });
    });
  }
}
