import { KumikoError } from "../base/index.ts";

export interface RelativePath {
  /** As the disk spells it. */
  readonly onDisk: string;
  /** In the form NFC: what is compared and told. */
  readonly path: string;
}

/** What was last read: each call decides several times about its path. */
let last: { readonly given: string; readonly read: RelativePath } | undefined;

/** A path below the mounted folder, `/` between its names. The only place where one is read for a decision. */
export function relativePath(given: string): RelativePath {
  if (last?.given !== given) last = { given, read: readPath(given) };
  return last.read;
}

function readPath(given: string): RelativePath {
  const refuse = (why: string): never => {
    throw new KumikoError(
      "invalid_argument",
      `The path ${JSON.stringify(given)} ${why}. Paths are relative to the mounted folder, for example src/main.ts.`,
      { path: given },
    );
  };
  if (given.includes("\0")) refuse("holds a NUL character");
  if (given.startsWith("/")) refuse("is absolute");
  const names = given.split("/").filter((name) => name !== "" && name !== ".");
  if (names.includes("..")) refuse("leads out with ..");
  if (names.length === 0) refuse("names no file");
  const onDisk = names.join("/");
  return { onDisk, path: onDisk.normalize("NFC") };
}
