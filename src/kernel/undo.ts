import { flipEdit, flipOf, isFileEdit, KumikoError, type WholeFileChange } from "../base/index.ts";
import { unifiedDiff } from "../blocks/index.ts";
import type { Appends } from "./appends.ts";
import type { CommitDoor, PlannedChange } from "./commit/door.ts";
import type { FileFlip } from "./file-edit.ts";
import type { PlannedFlip } from "./files-port.ts";
import { type Authorise, checkAllowed } from "./gate.ts";
import type { Invocation } from "./invocation.ts";
import type { OwnEdits } from "./own-edits.ts";
import type { EditRow, Store } from "./ports.ts";
import { ReplayedText } from "./replayed-text.ts";
import { type FlipText, WholeFlips } from "./whole-flips.ts";
import type { EditsUnderWay } from "./edits-under-way.ts";

export interface UndoRequest {
  /** Without it: the newest of `actor`. */
  readonly edit?: string | undefined;
  /** The caller, unless another is named. */
  readonly actor?: string | undefined;
  readonly fingerprint?: string | undefined;
  /** By block, what they say then: otherwise, or if it changed others, nothing is done. */
  readonly expected?: ReadonlyMap<string, string> | undefined;
}

/** What an undo or a redo did. */
export interface Flipped {
  /** The Edit that did it. */
  readonly edit: string;
  /** The Edit that was switched off or on, and whose it is. */
  readonly flipped: string;
  readonly active: boolean;
  readonly actor: string;
  readonly blocks: readonly FlippedBlock[];
}

export interface FlippedBlock {
  readonly block: string;
  readonly version: number;
  readonly diff: string;
  /** UTF-16 units of the Edit that stay as they are, because of what another Edit did. */
  readonly stayed: number;
  /** What the Edit did to the whole file, which is taken back or done again. */
  readonly file?: WholeFileChange | undefined;
}

export interface UndoPorts {
  readonly store: Store;
  readonly door: CommitDoor;
  readonly appends: Appends;
  readonly authorise: Authorise;
  readonly own: OwnEdits;
  readonly underWay: EditsUnderWay;
  newEdit(): string;
  /** Whether a block is a file that this Edit made and that nobody has written to since: without the Edit it is gone. */
  unmakes(block: string, edit: string): Promise<boolean>;
  /** The text of files is again what it was before an undo or a redo that failed. */
  takenBack(blocks: readonly string[], wasRedo: boolean): Promise<void>;
  /** Looks whether what somebody did to a file can be undone or redone, and the caller may. */
  planFlip(invocation: Invocation, flip: FileFlip): Promise<PlannedFlip>;
}

type Direction = "undo" | "redo";

/** The Edit that is to become active or not. */
interface Choice {
  readonly row: EditRow;
  readonly active: boolean;
  /** The flip that was named in its place: it has to be one that happened. */
  readonly flip?: string | undefined;
}

interface TextFlip extends Pick<UndoRequest, "fingerprint" | "expected"> {
  readonly edit: string;
  /** All whose text the Edit changed, unless some are named. */
  readonly blocks?: readonly string[];
}

/** An Edit may turn out to be flipped already by somebody who was faster; then another is chosen. */
const ATTEMPTS = 16;

/**
 * Undo and redo of whole Edits, over all the blocks they changed. The Edit is chosen from the journal and
 * flipped where its documents stand now: two who choose the same one cannot both have it.
 */
export class Undo {
  readonly #ports: UndoPorts;
  readonly #wholeFlips: WholeFlips;

  constructor(ports: UndoPorts) {
    this.#ports = ports;
    const { store, door } = ports;
    this.#wholeFlips = new WholeFlips({
      store,
      door,
      underWay: ports.underWay,
      newFlip: (edit, active) => this.#newFlip(edit, active),
      takenBack: (blocks, wasRedo) => ports.takenBack(blocks, wasRedo),
      plan: (invocation, flip) => ports.planFlip(invocation, flip),
    });
  }

  async flip(what: Direction, invocation: Invocation, request: UndoRequest): Promise<Flipped> {
    for (let attempt = 1; ; attempt++) {
      const { door } = this.#ports;
      const earlier = await door.answered<Flipped>(invocation, request.fingerprint);
      if (earlier !== undefined) return earlier;
      const choice = await this.#choose(what, invocation, request);
      try {
        return await this.#carryOut(choice, invocation, request);
      } catch (error) {
        const tooLate = error instanceof KumikoError && error.code === "nothing_to_undo";
        if (!tooLate || request.edit !== undefined || attempt >= ATTEMPTS) throw error;
      }
    }
  }

  async #choose(what: Direction, invocation: Invocation, request: UndoRequest): Promise<Choice> {
    const { door, appends } = this.#ports;
    const { edit, actor = invocation.actor } = request;
    if (edit !== undefined) return this.#named(what, invocation, edit, request.actor);
    // What streams in belongs to the newest Edit: all of it, and the Edit ends here.
    await appends.endThose((stream) => stream.actor === actor, invocation.actor);
    await door.decided();
    const own = request.actor === undefined ? this.#ports.own.of(invocation) : undefined;
    const row =
      (await this.#newest(what, actor, own)) ?? (await this.#newestBefore(what, actor, own));
    if (row === undefined) {
      const nothing = what === "undo" ? "no Edit that could be undone" : "undone nothing since";
      throw new KumikoError(
        "nothing_to_undo",
        `Nothing to ${what}: ${actor} has ${nothing}${what === "undo" ? "" : " that could be redone"}.`,
        { actor },
      );
    }
    if (what === "undo" && own !== undefined) await this.#checkNewest(row);
    return { row, active: what === "redo" };
  }

  /** Of `own`, the newest first, if that is said: then it is what a session undoes or redoes that names nothing. */
  async #newest(
    what: Direction,
    actor: string,
    own: readonly string[] | undefined,
  ): Promise<EditRow | undefined> {
    const { store } = this.#ports;
    if (own === undefined)
      return what === "undo" ? this.#newestOf(actor) : store.newestUndone(actor);
    for (const edit of own) {
      const undone = undoneBy(edit);
      const row = await store.edit(what === "undo" ? edit : (undone ?? edit));
      if (row === undefined) continue;
      // What somebody else undid of it is not the session's to redo.
      if (what === "undo" ? row.active : !row.active && undone !== undefined) return row;
      // What was written since leaves nothing to redo.
      if (what === "redo" && undone === undefined && row.active) return undefined;
    }
    return undefined;
  }

  async #newestOf(actor: string, before?: EditRow): Promise<EditRow | undefined> {
    const { store } = this.#ports;
    let row = await store.newestEdit(actor, before);
    while (row !== undefined && (await this.#loaded(row)) !== undefined)
      row = await store.newestEdit(actor, row);
    return row;
  }

  /** The block that an Edit is the first reading of: what a file held then was nobody's, and to undo it would empty the file. */
  async #loaded({ edit, actor, blocks, first }: EditRow): Promise<string | undefined> {
    const { store } = this.#ports;
    if (actor !== "disk") return undefined;
    for (const block of blocks) {
      if (!block.startsWith("@") || (await store.versionAt(block, first - 1)) > 0) continue;
      // It began with this Edit, or, if that has others as well, with somebody else's while it went on.
      if (blocks.length === 1) return block;
      const [begun] = await store.commitsOf(block, 0, 1);
      if (begun?.edit === edit) return block;
    }
    return undefined;
  }

  /** What an agent wrote with tools of its own is in its name, and of no session that is known: it may be this one's. */
  async #checkNewest({ edit, actor }: EditRow): Promise<void> {
    let newer = await this.#newestOf(actor);
    // Also behind what another session made since.
    while (newer !== undefined && newer.edit !== edit) {
      if (!this.#ports.own.knows(newer.edit)) throw undecided(newer, edit);
      newer = await this.#newestOf(actor, newer);
    }
  }

  /** What nobody has done since this process began may be the session's own, from before. */
  async #newestBefore(
    what: Direction,
    actor: string,
    own: readonly string[] | undefined,
  ): Promise<EditRow | undefined> {
    const newest = own === undefined ? undefined : await this.#newest(what, actor, undefined);
    if (newest === undefined) return undefined;
    const { own: sessions } = this.#ports;
    const isKnown =
      what === "undo"
        ? sessions.knows(newest.edit)
        : sessions.has((edit) => undoneBy(edit) === newest.edit);
    if (isKnown) throw anothers(what, newest);
    return newest;
  }

  /** Naming a flip means its target, the other way round. */
  async #named(
    what: Direction,
    invocation: Invocation,
    edit: string,
    actor: string | undefined,
  ): Promise<Choice> {
    const { store, door, appends } = this.#ports;
    const flipped = flipOf(edit);
    const { target, active } = flipped ?? { target: edit, active: true };
    await appends.endThose((stream) => stream.edit === target, invocation.actor);
    await door.decided();
    const row = await store.edit(target);
    if (row === undefined) throw unknownEdit(edit);
    if (actor !== undefined && row.actor !== actor) {
      throw new KumikoError(
        "invalid_argument",
        `Edit ${edit} is by ${row.actor}, not by ${actor}: name the Edit or the actor, not both.`,
        { edit, actor: row.actor },
      );
    }
    return { row, active: what === "undo" ? !active : active, flip: flipped && edit };
  }

  #newFlip(edit: string, active: boolean): string {
    return flipEdit(this.#ports.newEdit(), { target: edit, active });
  }

  async #carryOut(
    choice: Choice,
    invocation: Invocation,
    { fingerprint, expected }: UndoRequest,
  ): Promise<Flipped> {
    const { row, active } = choice;
    const edit = this.#newFlip(row.edit, active);
    if (!isFileEdit(row.edit))
      return this.#flipText(choice, invocation, { edit, fingerprint, expected });
    const flipText: FlipText = async (by, flip) =>
      (await this.#flipText({ ...choice, active: flip.active }, by, flip)).blocks;
    return this.#wholeFlips.flip(invocation, { row, active, edit, flipText }, fingerprint);
  }

  async #flipText(
    { row, active, flip: named }: Choice,
    invocation: Invocation,
    { edit, blocks = row.blocks, fingerprint, expected }: TextFlip,
  ): Promise<Flipped> {
    const loaded = active ? undefined : await this.#loaded(row);
    if (loaded !== undefined) throw firstRead(row, loaded);
    if (!active) await this.#checkUnmaking(invocation, row);
    const told = new Map<string, Pick<FlippedBlock, "diff" | "stayed">>();
    return this.#ports.door.edit<Flipped>({
      invocation,
      operation: "change",
      blocks,
      edit,
      fingerprint,
      plan: (documents) => {
        const all = [...documents.values()];
        if (
          named !== undefined &&
          !all.some(({ document }) => document.firstOf(named) !== undefined)
        ) {
          throw unknownEdit(named);
        }
        return all.map(({ block, document }): PlannedChange => {
          const request = { actor: invocation.actor, edit: row.edit };
          const flip = active ? document.planRedo(request) : document.planUndo(request);
          const before = document.read();
          const after = new ReplayedText(before);
          after.apply({ kind: "text", splices: flip.splices });
          if (expected !== undefined && expected.get(block) !== after.toString())
            throw notAsExpected(block, row);
          const { version } = document;
          const names = { oldName: `version ${version}`, newName: `version ${version + 1}` };
          const diff = unifiedDiff(before, after.toString(), names);
          told.set(block, { diff, stayed: flip.stayed });
          return { block, text: { flip } };
        });
      },
      answer: ({ changes }) => ({
        edit,
        flipped: row.edit,
        active,
        actor: row.actor,
        blocks: changes.map(({ block, version }) => ({ block, version, ...told.get(block)! })),
      }),
    });
  }

  /** To undo the making of a file is to delete it; what one made oneself, and nobody wrote to, is one's own to take back. */
  async #checkUnmaking({ actor, kind }: Invocation, row: EditRow): Promise<void> {
    const { edit, blocks } = row;
    const ports = this.#ports;
    if (row.actor === actor) return;
    for (const block of blocks)
      if (await ports.unmakes(block, edit))
        await checkAllowed(ports.authorise, actor, "delete", [block], kind);
  }
}

/** Several sessions of a program act in one name: what another did is not taken back by accident. */
function anothers(what: Direction, { edit, actor }: EditRow): KumikoError {
  return new KumikoError(
    "nothing_to_undo",
    `Nothing to ${what}: this session has ${what === "undo" ? "made no Edit that could be undone" : "undone nothing since that could be redone"}. ` +
      `The newest of ${actor} is ${edit}, of another session: name it if that is meant (edit).`,
    { actor, edit },
  );
}

/** To take back the older one would take something else than was meant, if the newer one is the session's too. */
function undecided({ actor, edit }: EditRow, here: string): KumikoError {
  return new KumikoError(
    "nothing_to_undo",
    `Nothing was undone: Edit ${edit} of ${actor} is of no session that is known, and newer than ${here}, the newest that is ` +
      "known to be of this session. Name the one that is meant (edit).",
    { actor, edit, here },
  );
}

/** The Edit that an undo switched off. */
export function undoneBy(edit: string): string | undefined {
  const flip = flipOf(edit);
  return flip?.active === false ? flip.target : undefined;
}

/** The Edit that a redo switched on. */
export function redoneBy(edit: string): string | undefined {
  const flip = flipOf(edit);
  return flip?.active === true ? flip.target : undefined;
}

function firstRead({ edit }: EditRow, block: string): KumikoError {
  return new KumikoError(
    "nothing_to_undo",
    `Edit ${edit} is ${block} as it was first read from its file: there is nothing before it.`,
    { edit, block },
  );
}

function notAsExpected(block: string, { edit }: EditRow): KumikoError {
  return new KumikoError(
    "nothing_to_undo",
    `Edit ${edit} is not all that ${block} has to be rid of, or it is more than that.`,
    { edit, block },
  );
}

function unknownEdit(edit: string): KumikoError {
  return new KumikoError(
    "unknown_edit",
    `No Edit ${edit} changed any text here; block_history lists the Edits of a block.`,
    { edit },
  );
}
