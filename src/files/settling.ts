import { Gathering } from "./epoch-part.ts";
import { compare } from "./compare.ts";
import { type Ignored, isRuleFile, parentOf } from "./ignored.ts";
import { isSame } from "./look.ts";
import type { Noticing } from "./noticing.ts";

/** What was noticed and is at rest at a time, looked at once more; undefined when nothing can be told then. */
export function* settled(
  noticing: Noticing,
  ignored: Ignored,
  now: number,
): Generator<undefined, Gathering | undefined> {
  const { quiet, known, comparison, locks } = noticing;
  const isHeld = noticing.isHeld(now);
  const ready = quiet.ready(now, isHeld);
  if (ready.length === 0) return undefined;
  // What the rules say now decides about everything else.
  for (const path of ready) if (isRuleFile(path)) ignored.forget(parentOf(path));
  // Git is done, and hints of what it did last may come late: without them a checkout would be told as two.
  if (!isHeld && quiet.takeMayBeMore())
    yield* compare(comparison, "", { deep: true, trusting: true });
  const gathering = new Gathering();
  for (const path of ready) {
    yield;
    yield* judge(noticing, ignored, path, gathering);
  }
  const parents = new Set([...gathering.parents()].map((folder) => nearest(noticing, folder)));
  for (const folder of parents) {
    const knew = known.folder(folder);
    // Names that came or went there without a hint.
    if (knew !== undefined && knew.nanoseconds !== noticing.timeOfFolder(folder)) {
      yield* compare(comparison, folder, { deep: false });
    }
  }
  const isWhole = gathering.holdsAll(quiet.paths());
  if (!isWhole && quiet.mustBeWhole(now)) return undefined;
  quiet.drop(gathering.nothing, locks.isKnown);
  gathering.holdMoves(quiet, known);
  return gathering.isEmpty ? undefined : gathering;
}

function* judge(
  noticing: Noticing,
  ignored: Ignored,
  path: string,
  gathering: Gathering,
): Generator<undefined> {
  const look = noticing.look(path);
  // It was looked at before; what can be said of it is not known until that works again.
  if (look === "unseen") return void gathering.nothing.push(path);
  const looked = noticing.quiet.looked(path);
  const stands =
    looked === undefined ? look === undefined : look !== undefined && isSame(looked, look);
  if (!stands) return noticing.touch(path, look);
  if (look !== undefined && ignored.isUnnoticed(path, look.kind === "folder")) {
    return void gathering.nothing.push(path);
  }
  if (look?.kind === "folder" && noticing.fresh.delete(path))
    yield* compare(noticing.comparison, path, { deep: true });
  gathering.add(path, look, noticing.known);
  return undefined;
}

/** The folder itself, or the lowest one above it that is there. */
function nearest(noticing: Noticing, folder: string): string {
  const isThere = folder === "" || noticing.look(folder) !== undefined;
  return isThere ? folder : nearest(noticing, parentOf(folder));
}
