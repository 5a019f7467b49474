import { type BlockState, fromRow } from "./block-state.ts";
import { decodeBody } from "./commit-body.ts";
import { unknownBlock } from "./live-documents.ts";
import type { NewBlockRow, Store } from "./ports.ts";
import { decoding, type Quarantine } from "./quarantine.ts";
import { ReplayedText } from "./replayed-text.ts";

/** Commits looked through at first for the last change of what a block is. */
const FEW = 32;

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

  /**
   * As of a position; undefined when the block did not exist yet. `remembered` is asked for the text of a
   * version first, by whoever has the block's history in memory; otherwise it is made of the commits.
   */
  async asOf(
    block: string,
    position: number,
    remembered: (version: number) => string | undefined,
  ): Promise<BlockText | undefined> {
    return this.#quarantine.reading(block, async () => {
      const version = await this.#store.versionAt(block, position);
      if (version === 0) return undefined;
      const state = await this.#stateAt(block, version);
      if (state === undefined) return undefined;
      return { state, version, text: remembered(version) ?? (await this.#replay(block, version)) };
    });
  }

  async #replay(block: string, version: number): Promise<string> {
    const commits = await this.#store.commitsOf(block, 0, version);
    return decoding("a commit", () => {
      const text = new ReplayedText("");
      for (const { body } of commits) text.apply(decodeBody(body).change);
      return text.toString();
    });
  }

  /** The row that the last commit with one left; most often that is the row of now. */
  async #stateAt(block: string, version: number): Promise<BlockState | undefined> {
    const row = await this.#store.row(block);
    if (row !== undefined && row.version <= version) return fromRow(row);
    for (let end = version, page = FEW; end > 0; page *= 4) {
      const begin = Math.max(0, end - page);
      const commits = await this.#store.commitsOf(block, begin, end);
      const found = decoding("a commit", () => {
        const last = commits.findLast(({ body }) => decodeBody(body).row !== undefined);
        return last && decodeBody(last.body).row;
      });
      if (found !== undefined) return fromRow(found);
      end = begin;
    }
    return undefined;
  }
}
