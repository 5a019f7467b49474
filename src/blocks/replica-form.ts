import { damaged, KumikoError, sha256Text } from "../base/index.ts";
import { Mirror } from "./mirror.ts";
import { readVersion } from "./read-version.ts";
import type { IndexState } from "./run-pieces.ts";
import type { SavedDocument } from "./saved-document.ts";
import type { Typing } from "./typing.ts";

/** A snapshot and the imports that were still waiting when it was taken: Loro leaves them out. */
interface Snapshot {
  readonly version: number;
  readonly bytes: Uint8Array;
  readonly waiting: ReadonlySet<number>;
}

/** What replicas merge with: asleep until bytes are needed, then woken from a snapshot or from the record. */
export class ReplicaForm implements Disposable {
  readonly #state: IndexState;
  readonly #snapshot: Snapshot | undefined;
  #mirror: Mirror | undefined;
  #birth: number | undefined;

  constructor(state: IndexState, snapshot?: SavedDocument["snapshot"]) {
    this.#state = state;
    const kept = new Set<number>();
    for (const [version, special] of state.record.specials) {
      if (special.kind === "birth") this.#birth = version;
      // Updates that the snapshot does not hold were kept for it, and stay as long as it does.
      if (special.kind === "import" && special.update !== undefined) kept.add(version);
    }
    this.#snapshot = snapshot === undefined ? undefined : { ...snapshot, waiting: kept };
  }

  /** The version that fixed the text from which on replicas can merge. */
  get birth(): number | undefined {
    return this.#birth;
  }

  /** Whether there is one to follow, born or lent. */
  get exists(): boolean {
    return this.#birth !== undefined || this.#mirror !== undefined;
  }

  /** What was lent until now is another document than the one that begins here. */
  born(version: number): void {
    this.#birth = version;
    this.forget();
  }

  lend(text: string): void {
    this.#mirror = Mirror.lend(this.#state.record, text);
  }

  /** Up to date. */
  get mirror(): Mirror {
    const mirror = (this.#mirror ??= this.#wake());
    mirror.catchUp();
    return mirror;
  }

  /** The same; what is merged into has to be born. */
  get bornMirror(): Mirror {
    if (this.#birth === undefined) throw this.#notBorn();
    return this.mirror;
  }

  /** Never while it is asleep: waking it for that would take longer than to merge. */
  follows(typing: Typing): boolean {
    return this.#birth !== undefined && this.#mirror?.follows(typing) === true;
  }

  /** One of now, or the one that was saved last. */
  snapshot({ anew }: { readonly anew: boolean }): Snapshot | undefined {
    if (!anew || this.#birth === undefined) return this.#snapshot;
    const { mirror } = this;
    const { version } = this.#state.record;
    return { bytes: mirror.snapshot(), version, waiting: mirror.waiting };
  }

  /** It is made anew from the record when it is needed again. */
  forget(): void {
    this.#mirror?.[Symbol.dispose]();
    this.#mirror = undefined;
  }

  [Symbol.dispose](): void {
    this.forget();
  }

  #wake(): Mirror {
    const birth = this.#birth;
    if (birth === undefined) throw this.#notBorn();
    const { record } = this.#state;
    if (this.#snapshot !== undefined) {
      return Mirror.restore(record, this.#snapshot.bytes, this.#snapshot.version);
    }
    const text = readVersion(this.#state, birth);
    const special = record.specials.get(birth);
    if (special?.kind !== "birth" || sha256Text(text) !== special.hash) {
      throw damaged(`the text of version ${birth} is not the one the document was born with`);
    }
    return Mirror.replay(record, birth, text);
  }

  #notBorn(): KumikoError {
    return new KumikoError(
      "not_born",
      "The document has no replica form yet: commit a birth before exporting or importing.",
      { version: this.#state.record.version },
    );
  }
}
