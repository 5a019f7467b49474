import { type Clock, KeyedQueue, KumikoError } from "../base/index.ts";
import type { Kernel, NamedValues } from "../kernel/index.ts";
import type { Notice } from "../protocol/index.ts";
import type { MergeConflict } from "./merge.ts";
import { DISK } from "./found-text.ts";
import type { MountedFile } from "./mounted-file.ts";

/** Both sides changed the same lines: what does not stand is kept here until somebody decides. */
export interface Conflict extends MergeConflict {
  /** `c12`. */
  readonly conflict: string;
  readonly block: string;
  readonly path: string;
  /** The version in which the one side stands. */
  readonly version: number;
  /** Who changed the file, and who changed these lines of the block. */
  readonly theirs: string;
  readonly mine: readonly string[];
  readonly time: number;
  /** The file itself went; its block still has the text. */
  readonly gone?: true | undefined;
  /** The Edit that decided it. While it is undone, the conflict is open again. */
  readonly decidedBy?: string | undefined;
}

/** As it is kept: open, or over as long as its Edit is active. */
type Kept = Conflict & { readonly over?: true };

/** So many that were decided are kept, in case that is undone. */
const DECIDED = 100;

/** Nobody's lines stand: the file is not written until somebody decides. */
export function isUndecided({ stood }: Conflict): boolean {
  return stood === undefined;
}

/** Whose lines do not stand; the disk itself is told nothing. */
function losersOf({ stood, theirs, mine }: Conflict): Set<string> {
  const ofDisk = stood === "disk" || theirs === DISK.actor ? [] : [theirs];
  return new Set([...ofDisk, ...(stood === "memory" ? [] : mine)]);
}

/** A conflict as it is shown: what somebody needs who has to decide it. */
export interface ShownConflict extends Pick<
  Conflict,
  "conflict" | "path" | "version" | "theirs" | "base" | "memory" | "disk"
> {
  readonly block_id: string;
  readonly stood: "disk" | "memory" | "nobody";
  readonly gone?: true;
  readonly mine: string[];
}

export function shownConflict(known: Conflict): ShownConflict {
  const { conflict, path, block, version, theirs, mine, gone } = known;
  const { base, memory, disk } = known;
  return {
    conflict,
    path,
    block_id: block,
    version,
    stood: known.stood ?? "nobody",
    ...(gone === true && { gone }),
    theirs,
    mine: [...mine],
    base,
    memory,
    disk,
  };
}

/** One that was just found, and whose text in the block it is about. */
export type FoundConflict = MergeConflict & Pick<Conflict, "mine">;

export interface NewConflicts {
  readonly conflicts: readonly FoundConflict[];
  readonly version: number;
  readonly theirs: string;
  readonly gone?: true | undefined;
}

/**
 * The conflicts of a kernel that nobody has resolved. Each is told to everybody who listens, and to those whose lines
 * do not stand with their next answer.
 */
export class Conflicts {
  readonly #kernel: Kernel;
  readonly #clock: Clock;
  readonly #values: NamedValues;
  readonly #open = new Map<string, Conflict>();
  /** Those that an Edit has decided. */
  readonly #decided = new Map<string, Conflict>();
  /** By actor: what they have not been told yet. */
  readonly #untold = new Map<string, Set<string>>();
  readonly #writing = new KeyedQueue();
  #last = 0;

  private constructor(kernel: Kernel, clock: Clock) {
    this.#kernel = kernel;
    this.#clock = clock;
    this.#values = kernel.named("conflicts");
  }

  static async open(kernel: Kernel, clock: Clock): Promise<Conflicts> {
    const conflicts = new Conflicts(kernel, clock);
    for (const { key, value } of await conflicts.#values.list()) {
      // The number of the last one stays when it is resolved: a name is never given twice.
      conflicts.#last = Math.max(conflicts.#last, Number(key.slice(1)));
      if (value === "") continue;
      const { over, ...conflict } = JSON.parse(value) as Kept;
      if (over === true) conflicts.#decided.set(conflict.conflict, conflict);
      else conflicts.#keep(conflict);
    }
    return conflicts;
  }

  /** In the order in which they arose. */
  list(block?: string): Conflict[] {
    const all = [...this.#open.values()];
    return block === undefined ? all : all.filter((each) => each.block === block);
  }

  get(conflict: string): Conflict {
    const known = this.#open.get(conflict);
    if (known !== undefined) return known;
    const all = [...this.#open.keys()];
    throw new KumikoError(
      "unknown_conflict",
      `There is no conflict ${conflict}: it is resolved, or never was. ` +
        (all.length === 0 ? "There are none." : `There are: ${all.join(", ")}.`),
      { conflict, conflicts: all },
    );
  }

  /** Those that are known already, since a process died right after it wrote them down, are not added again. */
  async add(file: MountedFile, { conflicts, ...rest }: NewConflicts): Promise<void> {
    await this.#writing.run(["conflicts"], async () => {
      for (const each of conflicts) {
        if (this.list(file.block).some((known) => isSame(known, each))) continue;
        const conflict: Conflict = {
          ...each,
          ...rest,
          conflict: `c${this.#last + 1}`,
          block: file.block,
          path: file.path,
          time: this.#clock.now(),
        };
        await this.#values.put(conflict.conflict, JSON.stringify(conflict));
        this.#last += 1;
        this.#keep(conflict);
        this.#kernel.announce(noticeOf(conflict, "arose"));
      }
    });
  }

  /** By an Edit, which may be undone, or for good. */
  async resolved(conflict: string, decidedBy?: string): Promise<void> {
    const known = this.get(conflict);
    await this.#writing.run(["conflicts"], async () => {
      const kept: Kept = { ...known, decidedBy, over: true };
      await this.#values.put(conflict, decidedBy === undefined ? "" : JSON.stringify(kept));
      if (decidedBy !== undefined) this.#decided.set(conflict, { ...known, decidedBy });
      for (const oldest of [...this.#decided.keys()].slice(0, -DECIDED)) {
        await this.#values.put(oldest, "");
        this.#decided.delete(oldest);
      }
    });
    this.#open.delete(conflict);
    for (const untold of this.#untold.values()) untold.delete(conflict);
    this.#kernel.announce(noticeOf(known, "resolved"));
  }

  /** What an Edit decided is open while it is undone. Gives the blocks whose conflicts these are. */
  async flipped(edit: string, active: boolean): Promise<string[]> {
    const all = active ? this.#open : this.#decided;
    const own = [...all.values()].filter(({ decidedBy }) => decidedBy === edit);
    for (const each of own) {
      if (active) await this.resolved(each.conflict, edit);
      else await this.#reopen(each);
    }
    return own.map(({ block }) => block);
  }

  async #reopen(conflict: Conflict): Promise<void> {
    await this.#writing.run(["conflicts"], () =>
      this.#values.put(conflict.conflict, JSON.stringify(conflict)),
    );
    this.#decided.delete(conflict.conflict);
    this.#keep(conflict);
    this.#kernel.announce(noticeOf(conflict, "arose"));
  }

  /** Masks what must not be known any more, in those of a block or in all. Gives in how many. */
  async purge(mask: (text: string) => string, block?: string): Promise<number> {
    return this.#writing.run(["conflicts"], async () => {
      let masked = 0;
      const clean = async (all: Map<string, Conflict>, more: Pick<Kept, "over">): Promise<void> => {
        for (const known of [...all.values()].filter((each) =>
          [undefined, each.block].includes(block),
        )) {
          const masking = withMask(known, mask);
          if (JSON.stringify(masking) === JSON.stringify(known)) continue;
          await this.#values.put(known.conflict, JSON.stringify({ ...masking, ...more }));
          all.set(known.conflict, masking);
          masked += 1;
        }
      };
      await clean(this.#open, {});
      await clean(this.#decided, { over: true });
      return masked;
    });
  }

  /** Closes those of a block about which there is nothing left to decide. */
  async close(block: string, isOver: (conflict: Conflict) => boolean = () => true): Promise<void> {
    for (const each of this.list(block)) if (isOver(each)) await this.resolved(each.conflict);
  }

  isOpen(conflict: string): boolean {
    return this.#open.has(conflict);
  }

  /** Those of an actor that were not told yet and may be; they are now. */
  tell(actor: string, mayBeTold: (conflict: Conflict) => boolean): Conflict[] {
    const untold = this.#untold.get(actor);
    if (untold === undefined) return [];
    const told = [...untold].flatMap((each) => this.#open.get(each) ?? []).filter(mayBeTold);
    for (const { conflict } of told) untold.delete(conflict);
    if (untold.size === 0) this.#untold.delete(actor);
    return told;
  }

  #keep(conflict: Conflict): void {
    this.#open.set(conflict.conflict, conflict);
    for (const actor of losersOf(conflict)) {
      const untold = this.#untold.get(actor) ?? new Set();
      this.#untold.set(actor, untold.add(conflict.conflict));
    }
  }
}

function withMask(conflict: Conflict, mask: (text: string) => string): Conflict {
  const side = (name: "base" | "memory" | "disk"): Conflict["base"] => ({
    ...conflict[name],
    text: mask(conflict[name].text),
  });
  // Newlines stay: what was several lines is as many.
  const lines = (all: readonly string[]): string[] =>
    all.length === 0 ? [] : mask(all.join("\n")).split("\n");
  const { before, after, lines: count } = conflict.around;
  return {
    ...conflict,
    base: side("base"),
    memory: side("memory"),
    disk: side("disk"),
    lost: mask(conflict.lost),
    around: { before: lines(before), after: lines(after), lines: count },
  };
}

function isSame(one: MergeConflict, other: MergeConflict): boolean {
  const sides = ["base", "memory", "disk"] as const;
  const isThere = one.base.start === other.base.start && one.lost === other.lost;
  return isThere && sides.every((side) => one[side].text === other[side].text);
}

function noticeOf(known: Conflict, state: "arose" | "resolved"): Notice<"resource"> {
  const { conflict, block_id: block, path, stood, theirs, mine } = shownConflict(known);
  return { kind: "conflict", state, conflict, block, path, stood, theirs, mine };
}
