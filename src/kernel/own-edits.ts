import type { Author } from "../blocks/index.ts";
import type { Invocation } from "./invocation.ts";

/** Edits that are remembered, of all readers together: the oldest are forgotten first. */
const REMEMBERED = 16_384;

/**
 * Which Edits an agent's session made. Several sessions of one program act in one name, and what one of them takes back
 * without saying what it means is never another's. Only as long as this process lives: of what was made before it began
 * nobody knows whose it is.
 */
export class OwnEdits {
  readonly #readers = new Map<string, string>();

  /** An Edit was made, or went on. */
  made(edit: string, invocation: Invocation): void {
    const reader = sessionOf(invocation);
    if (reader === undefined) return;
    this.#readers.delete(edit);
    this.#readers.set(edit, reader);
    if (this.#readers.size > REMEMBERED) this.#readers.delete(this.#readers.keys().next().value!);
  }

  /** Whether it is known whose it is. */
  knows(edit: string): boolean {
    return this.#readers.has(edit);
  }

  /** Whether one is known, whosever it is. */
  has(isMeant: (edit: string) => boolean): boolean {
    return this.#readers.keys().some(isMeant);
  }

  /**
   * Whether the caller knows of an Edit because it made it: another session that acts in its name does not. A person whose
   * commands come from many processes is one.
   */
  isKnownTo({ actor, edit }: Pick<Author, "actor" | "edit">, invocation: Invocation): boolean {
    if (actor !== invocation.actor) return false;
    const reader = sessionOf(invocation);
    if (reader !== undefined) return this.#readers.get(edit) === reader;
    return invocation.passing === true || invocation.reader === undefined;
  }

  /** Those of the caller's session, the newest first; undefined when it is no session, and all that bear its name are its own. */
  of(invocation: Invocation): string[] | undefined {
    const reader = sessionOf(invocation);
    if (reader === undefined) return undefined;
    return [...this.#readers].flatMap(([edit, by]) => (by === reader ? [edit] : [])).toReversed();
  }
}

/** A person's commands come from many processes, and are one person's all the same. */
function sessionOf({ kind, reader }: Invocation): string | undefined {
  return kind === "agent" ? reader : undefined;
}
