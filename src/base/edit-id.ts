/** What may happen to a whole file; its text stays as it is. */
export type WholeFileChange = "moves" | "deletes";

/** Edits that did something to whole files: one, or several beside changes of text. */
export type FileEditKind = WholeFileChange | "patches";

/** An Edit that undoes another, or does it again. */
interface Flip {
  readonly target: string;
  /** Whether the other counts again behind it. */
  readonly active: boolean;
}

/**
 * `e7-12`, the twelfth Edit of the owner with epoch 7 (`e7r1-12` where its records had to be begun anew); `e7-13-moves` of a
 * file; `e7-14-undoes-e7-13-moves`. The id says what the Edit is, so that to undo an undo, or what happened to a file, needs
 * no search.
 */
const PLAIN = /e\d+(?:r\d+)?-\d+/.source;
const KIND = "moves|deletes|patches";
const FLIP = `(undoes|redoes)-(${PLAIN}(?:-(?:${KIND}))?)`;
const EDIT = new RegExp(`^${PLAIN}(?:-(${KIND})|-${FLIP})?$`);

export function formatEdit(owner: string, sequence: number): string {
  return `e${owner}-${sequence}`;
}

export function fileEdit(edit: string, kind: FileEditKind): string {
  return `${edit}-${kind}`;
}

export function flipEdit(edit: string, { target, active }: Flip): string {
  return `${edit}-${active ? "redoes" : "undoes"}-${target}`;
}

export function isEdit(text: string): boolean {
  return EDIT.test(text);
}

export function isFileEdit(edit: string): boolean {
  return EDIT.exec(edit)?.[1] !== undefined;
}

/** Undefined for an Edit of its own. */
export function flipOf(edit: string): Flip | undefined {
  const [, , direction, target] = EDIT.exec(edit) ?? [];
  return target === undefined ? undefined : { target, active: direction === "redoes" };
}
