import {
  closeSync,
  constants,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { isSystemError } from "./disk-errors.ts";

/** Characters after which what was said of a block before is left out. */
const LONG = 64 * 1024;
/** Says which run of the system this is; only Linux has it. */
const BOOT = "/proc/sys/kernel/random/boot_id";

const { O_WRONLY, O_APPEND, O_CREAT, O_TRUNC } = constants;

/** By block what is known of it, as a line; undefined where that is not for a file of its own. */
export type Notes = ReadonlyMap<string, string | undefined>;

/**
 * Records that are not in the journal yet, in a file that nobody waits for. Who kills this process cannot take them back: the
 * system has them. After a power cut they are not believed, for it may have kept them and lost what they speak of.
 */
export class LedgerTail implements Disposable {
  readonly #file: string;
  readonly #boot: string;
  #descriptor: number | undefined;
  #length = 0;
  /** How long it was when nothing was in it twice. */
  #least = 0;

  private constructor(file: string, boot: string) {
    this.#file = file;
    this.#boot = boot;
  }

  /** Undefined where nobody tells whether the system was started anew since. */
  static of(file: string): LedgerTail | undefined {
    const boot = read(BOOT)?.trim();
    return boot === undefined || boot === "" ? undefined : new LedgerTail(file, boot);
  }

  /** What an earlier process had not written down when it was killed. */
  read(): Notes {
    const [boot, ...lines] = (read(this.#file) ?? "").split("\n");
    const notes = new Map<string, string | undefined>();
    // Behind the last line's end stands nothing, or a line that was not written to its end.
    if (boot === this.#boot)
      for (const line of lines.slice(0, -1)) {
        const at = line.indexOf(" ");
        notes.set(line.slice(0, at), line.slice(at + 1) || undefined);
      }
    return notes;
  }

  /** `all` is everything that is not written down yet, this one among it. */
  add(block: string, note: string | undefined, all: () => Notes): void {
    const line = lineOf(block, note);
    const isFull = this.#length + line.length > Math.max(LONG, 2 * this.#least);
    if (this.#descriptor === undefined || isFull) return this.keep(all());
    return this.#trying(() => this.#append(this.#descriptor!, line));
  }

  /** Only that is still not written down. */
  keep(notes: Notes): void {
    this.#trying(() => (notes.size === 0 ? this.#clear() : this.#begin(notes)));
  }

  [Symbol.dispose](): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
    this.#length = 0;
    this.#least = 0;
  }

  #clear(): void {
    if (this.#descriptor === undefined) return rmSync(this.#file, { force: true });
    ftruncateSync(this.#descriptor, 0);
    this.#length = 0;
    this.#least = 0;
  }

  /** In a second file, which takes the first one's place: who kills this process meanwhile leaves that. */
  #begin(notes: Notes): void {
    this[Symbol.dispose]();
    mkdirSync(dirname(this.#file), { mode: 0o700, recursive: true });
    const anew = `${this.#file}.new`;
    this.#descriptor = openSync(anew, O_WRONLY | O_APPEND | O_CREAT | O_TRUNC, 0o600);
    const lines = Array.from(notes, ([block, note]) => lineOf(block, note));
    this.#append(this.#descriptor, lines.join(""));
    renameSync(anew, this.#file);
    this.#least = this.#length;
  }

  #append(descriptor: number, lines: string): void {
    const added = this.#length === 0 ? `${this.#boot}\n${lines}` : lines;
    // Goes on until all of it is there, or says why not: of one call a disk that is just full may take a part and say nothing.
    writeFileSync(descriptor, added);
    this.#length += added.length;
  }

  /**
   * No room, or a home that cannot be written: what a crash takes is found out by comparing texts. The next one begins
   * anew, for a part of this one may stand at the end.
   */
  #trying(task: () => void): void {
    try {
      task();
    } catch (error) {
      if (!isSystemError(error)) throw error;
      this[Symbol.dispose]();
    }
  }
}

function lineOf(block: string, note = ""): string {
  return `${block} ${note}\n`;
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (isSystemError(error)) return undefined;
    throw error;
  }
}
