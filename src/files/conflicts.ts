import { type Clock, KeyedQueue, KumikoError } from "../base/index.ts";
import type { Kernel, NamedValues } from "../kernel/index.ts";
import type { Notice } from "../protocol/index.ts";
import type { MergeConflict } from "./merge.ts";
import type { MountedFile } from "./mounted-file.ts";

/** Both sides changed the same lines: what does not stand is kept here until somebody decides. */
export interface Conflict extends MergeConflict {
  /** `c12`. */
  readonly conflict: string;
  readonly block: string;
  readonly path: string;
  /** The version in which the one side stands. */
  readonly version: number;
  /** Who changed the file, and who the block. */
  readonly theirs: string;
  readonly mine: readonly string[];
  readonly time: number;
  /** The file itself went; its block still has the text. */
  readonly gone?: true | undefined;
}

export interface NewConflicts {
  readonly conflicts: readonly MergeConflict[];
  readonly version: number;
  readonly theirs: string;
  readonly mine: readonly string[];
  readonly gone?: true | undefined;
}

/**
 * The conflicts of a kernel that nobody has resolved. Each is told to everybody who listens, and to those whose text
 * it is with their next answer.
 */
export class Conflicts {
  readonly #kernel: Kernel;
  readonly #clock: Clock;
  readonly #values: NamedValues;
  readonly #open = new Map<string, Conflict>();
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
      if (value !== "") conflicts.#keep(JSON.parse(value) as Conflict);
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
      "not_found",
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

  async resolved(conflict: string): Promise<void> {
    const known = this.get(conflict);
    await this.#writing.run(["conflicts"], () => this.#values.put(conflict, ""));
    this.#open.delete(conflict);
    for (const untold of this.#untold.values()) untold.delete(conflict);
    this.#kernel.announce(noticeOf(known, "resolved"));
  }

  /** Those of an actor that were not told yet; they are now. */
  tell(actor: string): Conflict[] {
    const untold = this.#untold.get(actor);
    if (untold === undefined) return [];
    this.#untold.delete(actor);
    return [...untold].flatMap((each) => this.#open.get(each) ?? []);
  }

  #keep(conflict: Conflict): void {
    this.#open.set(conflict.conflict, conflict);
    for (const actor of conflict.mine) {
      const untold = this.#untold.get(actor) ?? new Set();
      this.#untold.set(actor, untold.add(conflict.conflict));
    }
  }
}

function isSame(one: MergeConflict, other: MergeConflict): boolean {
  const sides = ["base", "memory", "disk"] as const;
  const isThere = one.base.start === other.base.start && one.lost === other.lost;
  return isThere && sides.every((side) => one[side].text === other[side].text);
}

function noticeOf(
  { conflict, block, path, theirs, mine }: Conflict,
  state: "arose" | "resolved",
): Notice<"resource"> {
  return { kind: "conflict", state, conflict, block, path, theirs, mine: [...mine] };
}
