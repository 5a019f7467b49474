import { statSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setInterval } from "node:timers";
import { decodeText, readPlainFile } from "../text-file.ts";

/** Milliseconds between two looks: a copy that was the same in both is not being written. */
const LOOKS = 200;

/**
 * A file's text in a place where nobody but one editor writes, so that it is known what the editor's text was made of.
 * It is removed when it is given back, unless it is kept.
 */
export class EditedCopy implements AsyncDisposable {
  readonly path: string;
  readonly #folder: string;
  #kept = false;

  private constructor(folder: string, path: string) {
    this.#folder = folder;
    this.path = path;
  }

  /** Under the name of the file, by which an editor knows what it is. Undefined text: there is no file yet. */
  static async make(file: string, text: string | undefined): Promise<EditedCopy> {
    const folder = await mkdtemp(join(tmpdir(), "kumiko-edit-"));
    await chmod(folder, 0o700);
    const copy = new EditedCopy(folder, join(folder, basename(file)));
    if (text !== undefined) await writeFile(copy.path, text, { mode: 0o600 });
    return copy;
  }

  /** Undefined when there is none. */
  async read(): Promise<string | undefined> {
    const plain = await readPlainFile(this.path, this.path);
    return plain === null ? undefined : decodeText(plain.bytes, this.path);
  }

  /** Calls back when the copy was written and rests, until it is stopped. */
  onSaved(saved: () => void): Disposable {
    let told = stampOf(this.path);
    let before = told;
    const timer = setInterval(() => {
      const now = stampOf(this.path);
      const isNew = now !== told && now === before;
      before = now;
      if (!isNew) return;
      told = now;
      saved();
    }, LOOKS);
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }

  /** What is in it is nowhere else. */
  keep(): void {
    this.#kept = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#kept) await rm(this.#folder, { recursive: true, force: true });
  }
}

function stampOf(path: string): string {
  const stamp = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stamp === undefined ? "none" : `${stamp.ino} ${stamp.size} ${stamp.mtimeNs}`;
}
