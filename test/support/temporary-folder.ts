import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A folder that is gone when its owner's `using` ends. */
export interface TemporaryFolder extends Disposable {
  readonly path: string;
  /** Writes a file, making the folders above it, and gives its full path. */
  write(name: string, content: string): string;
}

/** Makes one in the system's folder for such, or below `parent`. */
export function temporaryFolder(parent: string = tmpdir()): TemporaryFolder {
  mkdirSync(parent, { recursive: true });
  const path = mkdtempSync(join(parent, "kumiko-"));
  return {
    path,
    write(name, content) {
      const file = join(path, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
      return file;
    },
    [Symbol.dispose]() {
      rmSync(path, { recursive: true, force: true });
    },
  };
}
