import { type ErrorCode, KumikoError, nearest } from "../base/index.ts";
import { type Conflicts, isUndecided } from "./conflicts.ts";
import type { Disk } from "./disk.ts";
import { nameOf } from "./ignored.ts";
import type { MountedFile } from "./mounted-file.ts";
import type { MountedFiles } from "./mounted-files.ts";

interface Surroundings {
  /** Of the mount. */
  readonly name: string;
  readonly disk: Disk;
  readonly files: MountedFiles;
}

/** There is no such file; its block, if it has one, still has its text. */
export function absent(
  { name: mount, disk, files }: Surroundings,
  path: string,
  file?: MountedFile,
): KumikoError {
  const sentence = `There is no file ${path} in @${mount}.`;
  if (file === undefined) {
    if (disk.kindAt(path) === "folder") return isFolder(path, "not_on_disk");
    const to = files.movedTo(path);
    if (to !== undefined)
      return new KumikoError("not_on_disk", `${sentence} It was moved: it is ${to} now.`, {
        path,
        mount,
        moved_to: to,
      });
    const near = nearPath(disk, path);
    const meant = near === undefined ? "" : ` Did you mean ${near}?`;
    const facts = { path, mount, ...(near !== undefined && { near }) };
    return new KumikoError("not_on_disk", `${sentence}${meant}`, facts);
  }
  return new KumikoError(
    "not_on_disk",
    `${sentence} Its block ${file.block} still has its text: block_rollback or file_save brings it back, file_create begins anew.`,
    { path, mount, block: file.block },
  );
}

/** A file beside it that is called much the same. */
function nearPath(disk: Disk, path: string): string | undefined {
  const name = nameOf(path);
  const near = nearest(name, disk.namesBeside(path));
  return near === undefined ? undefined : `${path.slice(0, path.length - name.length)}${near}`;
}

/** Its path means another file, or meant one that has gone on. */
export function displaced({ block, path }: MountedFile, other?: MountedFile): KumikoError {
  const after = other === undefined ? "was there since" : `is there now: ${other.block}`;
  return new KumikoError(
    "not_on_disk",
    `${block} was ${path}, which was deleted, and another file ${after}. What ${block} says can be read.`,
    { block, path, ...(other !== undefined && { other: other.block }) },
  );
}

export function undecided({ block, path }: MountedFile, conflicts: Conflicts): KumikoError {
  const waiting = conflicts.list(block).filter(isUndecided);
  const names = waiting.map(({ conflict }) => conflict);
  return new KumikoError(
    "conflict",
    `Both sides changed the same lines of ${path}, and nobody has decided yet: resolve ${names.join(", ")} first.`,
    { path, conflicts: names },
  );
}

export function isFolder(path: string, code: ErrorCode): KumikoError {
  return new KumikoError(code, `${path} is a folder: give the path of a file in it.`, {
    path,
    folder: true,
  });
}

export function isThere(path: string): KumikoError {
  return new KumikoError(
    "already_exists",
    `${path} is there already: edit it, or delete it first.`,
    { path },
  );
}
