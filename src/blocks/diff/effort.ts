/**
 * How much work may be put into something, in steps. Not in milliseconds: a process that is not scheduled for a moment
 * would find something else than one that is, and lose what it has to merge.
 */
export class Effort {
  readonly #steps: number;
  /** What was done that cannot be stopped counts too, so that it may be more than there was. */
  spent = 0;

  constructor(steps: number) {
    this.#steps = steps;
  }

  get left(): number {
    return Math.max(0, this.#steps - this.spent);
  }

  spend(steps: number): void {
    this.spent += steps;
  }
}
