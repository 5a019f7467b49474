/**
 * How much work may be put into something, in steps. Not in milliseconds: a process that is not scheduled for a moment
 * would find something else than one that is, and lose what it has to merge.
 */
export class Effort {
  #left: number;

  constructor(steps: number) {
    this.#left = steps;
  }

  get left(): number {
    return Math.max(0, this.#left);
  }

  spend(steps: number): void {
    this.#left -= steps;
  }
}
