import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { isSystemError } from "./disk-errors.ts";

/** Characters after which what was said of a block before is left out. */
const LONG = 64 * 1024;
/** Says which run of the system this is; only Linux has it. */
const BOOT = "/proc/sys/kernel/random/boot_id";

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
    if (this.#descriptor === undefined || this.#length === 0 || isFull) this.keep(all());
    else this.#write(line);
  }

  /** Only that is still not written down. */
  keep(notes: Notes): void {
    if (this.#descriptor === undefined && notes.size === 0 && read(this.#file) === undefined)
      return;
    try {
      this.#descriptor ??= this.#open();
      ftruncateSync(this.#descriptor, 0);
      this.#length = 0;
    } catch (error) {
      return this.#doWithout(error);
    }
    if (notes.size === 0) return;
    const lines = Array.from(notes, ([block, note]) => lineOf(block, note));
    this.#write(`${this.#boot}\n${lines.join("")}`);
    this.#least = this.#length;
  }

  [Symbol.dispose](): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #open(): number {
    mkdirSync(dirname(this.#file), { mode: 0o700, recursive: true });
    return openSync(this.#file, "a", 0o600);
  }

  #write(lines: string): void {
    try {
      writeSync(this.#descriptor!, lines);
      this.#length += lines.length;
    } catch (error) {
      this.#doWithout(error);
    }
  }

  /** No room, or a home that cannot be written: what a crash takes is found out by comparing texts. */
  #doWithout(error: unknown): void {
    if (!isSystemError(error)) throw error;
    this[Symbol.dispose]();
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
