import { checkWellFormed, KumikoError } from "../base/index.ts";
import type { Activity } from "./activity.ts";
import type { SpliceRecord } from "./splice-record.ts";
import type { Stamp } from "./types.ts";

/** Beyond any calendar, and small enough that differences of times stay exact. */
const LATEST = 2 ** 50;

export function checkStamp(record: SpliceRecord, stamp: Stamp): void {
  if (!Number.isInteger(stamp.time) || stamp.time < 0 || stamp.time > LATEST) {
    throw new KumikoError(
      "invalid_argument",
      `The time of a commit is whole milliseconds from 0 to ${LATEST}, not ${stamp.time}.`,
      { time: stamp.time },
    );
  }
  if (record.repeats(stamp)) return;
  if (stamp.actor === "" || stamp.edit === "") {
    throw new KumikoError("invalid_argument", "A commit needs an actor and an edit id.", {
      actor: stamp.actor,
      edit: stamp.edit,
    });
  }
  for (const text of [
    stamp.actor,
    stamp.edit,
    stamp.tool,
    stamp.call,
    stamp.message,
    stamp.model,
    stamp.turn,
  ]) {
    if (text !== undefined) checkWellFormed(text);
  }
}

/** Whether it is the Edit of the text before, and nothing was ever undone: what held for that holds again. */
export function typingGoesOn(record: SpliceRecord, activity: Activity, stamp: Stamp): boolean {
  return activity.untouched && record.repeats(stamp) && !record.specials.has(record.version);
}

/**
 * Text may go on under an Edit only while that Edit is its author's, is of text and is active; what is no text may under a
 * flip as well, which takes back what was done to the block beside its text.
 */
export function checkEditGoesOn(
  record: SpliceRecord,
  activity: Activity,
  stamp: Stamp,
  { isText = true } = {},
): void {
  const edit = record.editIndex(stamp.edit);
  if (edit === undefined) return;
  const owner = record.editActors[edit]!;
  const kind = record.specials.get(record.editSpan(edit)[0])?.kind;
  const isOfText = kind === undefined || kind === "import" || kind === "structure";
  const goesOn = isOfText || (!isText && kind === "flip");
  if (owner !== stamp.actor || !goesOn) throw editIdTaken(stamp.edit, owner);
  if (!activity.isActive(edit)) {
    throw new KumikoError(
      "edit_undone",
      `Edit ${stamp.edit} is undone; redo it first or start a new Edit.`,
      { edit: stamp.edit },
    );
  }
}

export function checkEditIsNew(record: SpliceRecord, stamp: Stamp): void {
  const edit = record.editIndex(stamp.edit);
  if (edit !== undefined) throw editIdTaken(stamp.edit, record.editActors[edit]!);
}

function editIdTaken(edit: string, actor: string): KumikoError {
  return new KumikoError(
    "invalid_argument",
    `Edit id ${edit} is already used by ${actor} for something else; start a new Edit.`,
    { edit, actor },
  );
}
