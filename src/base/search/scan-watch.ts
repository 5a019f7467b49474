/** A thread is looked at this often in one slice of time. */
export const LOOKS_PER_SLICE = 5;

/** Cells of the shared memory, before the name's units. */
const NUMBER = 0;
const SLICES = 1;
const LENGTH = 2;
const CELLS = 3;
/** No block has a longer name. */
const NAME_UNITS = 128;

/**
 * Which text a thread looks through, in memory that its other side sees too: a thread that does not come back
 * from a text cannot tell which one it is.
 */
export class ScanWatch {
  readonly shared: SharedArrayBuffer;
  readonly #cells: Int32Array<SharedArrayBuffer>;
  readonly #name: Uint16Array<SharedArrayBuffer>;
  /** In the thread how many texts were entered; on the other side the one last seen. */
  #number = 0;
  #looks = 0;

  constructor(
    shared = new SharedArrayBuffer(
      CELLS * Int32Array.BYTES_PER_ELEMENT + NAME_UNITS * Uint16Array.BYTES_PER_ELEMENT,
    ),
  ) {
    this.shared = shared;
    this.#cells = new Int32Array(shared, 0, CELLS);
    this.#name = new Uint16Array(shared, this.#cells.byteLength);
  }

  /** In the thread: it begins with a text that has so many slices of time. */
  enter(name: string, slices: number): void {
    if (name.length > NAME_UNITS) throw new Error(`"${name}" is too long a name to be watched`);
    for (let at = 0; at < name.length; at += 1) this.#name[at] = name.charCodeAt(at);
    this.#cells[LENGTH] = name.length;
    this.#cells[SLICES] = slices;
    this.#number += 1;
    Atomics.store(this.#cells, NUMBER, this.#number);
  }

  /** In the thread: it is done with it. */
  leave(): void {
    Atomics.store(this.#cells, NUMBER, 0);
  }

  /**
   * On the other side, a fifth of a slice after the last look: the text that the thread is still in although
   * its time is up.
   */
  look(): string | undefined {
    const number = Atomics.load(this.#cells, NUMBER);
    if (number === 0 || number !== this.#number) {
      this.#number = number;
      this.#looks = 0;
      return undefined;
    }
    this.#looks += 1;
    // One more than it has: it may be about to see the end of its time by itself.
    if (this.#looks <= this.#cells[SLICES]! * LOOKS_PER_SLICE) return undefined;
    const name = String.fromCharCode(...this.#name.subarray(0, this.#cells[LENGTH]));
    return Atomics.load(this.#cells, NUMBER) === number ? name : undefined;
  }
}
