const CHUNK = 1024;

/** Numbers in a row that are spliced in the middle, many times. */
export class UnitSequence {
  #chunks: number[][] = [[]];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  splice(at: number, remove: number, insert: readonly number[]): void {
    let [chunk, offset] = this.#find(at);
    this.#length += insert.length - remove;
    for (let left = remove; left > 0;) {
      const here = this.#chunks[chunk]!;
      const gone = here.splice(offset, left).length;
      left -= gone;
      if (left === 0) break;
      chunk += 1;
      offset = 0;
    }
    [chunk, offset] = this.#find(at);
    const here = this.#chunks[chunk]!;
    const tail = here.splice(offset);
    for (const unit of insert) here.push(unit);
    for (const unit of tail) here.push(unit);
    this.#layOut(chunk);
  }

  slice(start: number, end: number): number[] {
    const units: number[] = [];
    let [chunk, offset] = this.#find(start);
    for (let left = end - start; left > 0; chunk++, offset = 0) {
      for (const unit of this.#chunks[chunk]!.slice(offset, offset + left)) units.push(unit);
      left = end - start - units.length;
    }
    return units;
  }

  #find(at: number): [chunk: number, offset: number] {
    let offset = at;
    let chunk = 0;
    while (chunk < this.#chunks.length - 1 && offset > this.#chunks[chunk]!.length) {
      offset -= this.#chunks[chunk]!.length;
      chunk += 1;
    }
    return [chunk, offset];
  }

  /** Cuts a chunk that has grown, and drops those that ran empty. */
  #layOut(chunk: number): void {
    const here = this.#chunks[chunk]!;
    if (here.length > 2 * CHUNK) {
      const pieces: number[][] = [];
      for (let at = 0; at < here.length; at += CHUNK) pieces.push(here.slice(at, at + CHUNK));
      this.#chunks = [...this.#chunks.slice(0, chunk), ...pieces, ...this.#chunks.slice(chunk + 1)];
    }
    if (this.#chunks.length > 1) {
      const full = this.#chunks.filter((each) => each.length > 0);
      if (full.length < this.#chunks.length) this.#chunks = full.length === 0 ? [[]] : full;
    }
  }
}
