/** How a line is made comparable. Each form also forgets what the ones before it forget. */
export type Form = "exact" | "ending" | "trailing" | "around";

export function inForm(form: Form, line: string): string {
  if (form === "exact") return line;
  if (form === "ending") return line.endsWith("\r") ? line.slice(0, -1) : line;
  return form === "trailing" ? line.trimEnd() : line.trim();
}

/** Where each line stands, in one form: equal ids mean equal lines. */
class FormIndex {
  readonly ids: Int32Array;
  readonly #known = new Map<string, number>();
  readonly #starts: Int32Array;
  readonly #positions: Int32Array;

  constructor(lines: readonly string[], form: Form) {
    this.ids = new Int32Array(lines.length);
    for (let at = 0; at < lines.length; at++) {
      const key = inForm(form, lines[at]!);
      let id = this.#known.get(key);
      if (id === undefined) {
        id = this.#known.size;
        this.#known.set(key, id);
      }
      this.ids[at] = id;
    }
    this.#starts = new Int32Array(this.#known.size + 1);
    for (const id of this.ids) this.#starts[id + 1]!++;
    for (let id = 0; id < this.#known.size; id++) this.#starts[id + 1]! += this.#starts[id]!;
    const filled = this.#starts.slice();
    this.#positions = new Int32Array(lines.length);
    for (let at = 0; at < lines.length; at++) this.#positions[filled[this.ids[at]!]!++] = at;
  }

  /** The id of a line already in this form, or -1 when the text has no such line. */
  idOf(key: string): number {
    return this.#known.get(key) ?? -1;
  }

  /** Rising line numbers. */
  positionsOf(id: number): Int32Array {
    return this.#positions.subarray(this.#starts[id], this.#starts[id + 1]);
  }
}

/** A text's lines, findable by content; each form is indexed when it is first needed. */
export class LineIndex {
  readonly lines: readonly string[];
  readonly #forms = new Map<Form, FormIndex>();

  constructor(lines: readonly string[]) {
    this.lines = lines;
  }

  in(form: Form): FormIndex {
    let index = this.#forms.get(form);
    if (index === undefined) {
      index = new FormIndex(this.lines, form);
      this.#forms.set(form, index);
    }
    return index;
  }
}
