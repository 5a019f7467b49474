import { KumikoError } from "../base/index.ts";
import { isContentEdit, newestUndo } from "./activity.ts";
import { flipEdit } from "./flip.ts";
import type { IndexState } from "./run-pieces.ts";
import { toggledHolds } from "./superseded.ts";
import type { Splice } from "./types.ts";

export interface FlipRequest {
  readonly actor: string;
  /** Without it: the caller's newest. */
  readonly edit?: string | undefined;
}

/** What an undo or redo would do; nothing is changed by planning it. */
export interface FlipPlan {
  /** The Edit of text that is switched off or on. */
  readonly edit: string;
  readonly active: boolean;
  readonly splices: readonly Splice[];
  /** The deletions that begin or cease to hold with it. */
  readonly held: readonly number[];
  /** Units of the Edit that stay as they are, because of what another Edit did. */
  readonly stayed: number;
}

export function planUndo(state: IndexState, request: FlipRequest): FlipPlan {
  const { record, activity } = state;
  if (request.edit !== undefined) return plan(state, ...flipOfNamed(state, request.edit, "undo"));
  const edit = newestUndo(record, activity, request.actor);
  if (edit === undefined)
    throw nothing("undo", `${request.actor} has no Edit here that could be undone.`);
  return plan(state, edit, false);
}

export function planRedo(state: IndexState, request: FlipRequest): FlipPlan {
  if (request.edit !== undefined) return plan(state, ...flipOfNamed(state, request.edit, "redo"));
  const edit = state.activity.newestRedo(request.actor);
  if (edit === undefined)
    throw nothing("redo", `${request.actor} has undone nothing here that could be redone.`);
  return plan(state, edit, true);
}

/** The Edit that is meant and what it becomes. Naming a flip means its target, the other way round. */
export function flipOfNamed(
  { record, activity }: IndexState,
  id: string,
  what: "undo" | "redo",
): [edit: number, active: boolean] {
  const named = record.editIndex(id);
  if (named === undefined) {
    throw new KumikoError("unknown_edit", `No Edit ${id} is recorded in this block.`, { edit: id });
  }
  const special = record.specials.get(record.editSpan(named)[0]);
  const [edit, active] =
    special?.kind === "flip"
      ? [special.target, what === "undo" ? !special.active : special.active]
      : [named, what === "redo"];
  if (!isContentEdit(record, edit)) {
    throw nothing(what, `Edit ${id} is where the text began; it cannot be undone.`, id);
  }
  if (activity.isActive(edit) === active) {
    throw nothing(
      what,
      `Edit ${record.editIds[edit]!} is ${active ? "not undone" : "already undone"}.`,
      id,
    );
  }
  return [edit, active];
}

function plan(state: IndexState, edit: number, active: boolean): FlipPlan {
  const held = toggledHolds(state, edit, active);
  const result = flipEdit(state, { edit, active, held }, undefined);
  return { edit: state.record.editIds[edit]!, active, held, ...result };
}

function nothing(what: string, why: string, edit?: string): KumikoError {
  return new KumikoError(
    "nothing_to_undo",
    `Nothing to ${what}: ${why}`,
    edit === undefined ? {} : { edit },
  );
}
