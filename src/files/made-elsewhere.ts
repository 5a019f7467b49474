import type { EditTarget } from "../blocks/index.ts";
import type { Invocation, Kernel } from "../kernel/index.ts";
import { type FolderRules, whenBothChanged } from "../permission/index.ts";
import { writersIn } from "./conflict-writers.ts";
import { type Conflicts, isUndecided, type NewConflicts } from "./conflicts.ts";
import { type Merged, mergeTexts } from "./merge.ts";
import type { MountedFile } from "./mounted-file.ts";
import { besideEdits } from "./overwritten.ts";

/** A whole text that somebody made of an older one, where nobody else saw it. */
export interface MadeElsewhere {
  readonly text: string;
  readonly base: string | { readonly version: number };
  /** The version up to which they knew what others wrote. */
  readonly since: number;
}

interface Ports {
  readonly kernel: Kernel;
  readonly conflicts: Conflicts;
  rules(): FolderRules;
}

/** Merges it into the file's block, a person's as if it stood on disk. */
export async function mergeMade(
  ports: Ports,
  file: MountedFile,
  made: MadeElsewhere,
  invocation: Invocation,
): Promise<void> {
  const { kernel, conflicts } = ports;
  const { actor: theirs, kind } = invocation;
  // A person's copy has the place of the disk. An agent's has not: it takes nobody's lines.
  const isHeld = kind === "agent" || kind === "service";
  const version = typeof made.base === "string" ? undefined : made.base.version;
  const since = { base: version, known: made.since, except: theirs };
  const merge = (target: EditTarget): { merged: Merged; found: NewConflicts } => {
    const base = typeof made.base === "string" ? made.base : target.read(made.base.version);
    const rule = isHeld
      ? { stands: "memory" as const, keepsAppended: false }
      : whenBothChanged(ports.rules().levelOf(file.path).level);
    const merged = mergeTexts({ base, memory: target.read(), disk: made.text }, rule);
    const writers = writersIn(target, since);
    const found = merged.conflicts.map((each) => ({ ...each, mine: writers(each) }));
    return { merged, found: { conflicts: found, version: target.version + 1, theirs } };
  };
  const keep = async ({ found }: ReturnType<typeof merge>): Promise<void> => {
    if (found.conflicts.length === 0) return;
    await conflicts.add(file, found);
    file.waits = conflicts.list(file.block).some(isUndecided);
  };
  // Whoever dies in between must not take with it what will not stand.
  let done = await kernel.tryOut(file.block, merge);
  await keep(done);
  await kernel.editFiles(invocation, {
    blocks: [file.block],
    operation: "change",
    translate: (target) => {
      done = merge(target);
      return besideEdits(target, done.merged.splices);
    },
    answer: () => undefined,
  });
  await keep(done);
}
