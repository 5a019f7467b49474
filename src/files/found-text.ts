import { KumikoError } from "../base/index.ts";
import type { Invocation } from "../kernel/index.ts";
import type { Content } from "./content.ts";
import type { Disk } from "./disk.ts";
import type { Base } from "./ledger.ts";
import { type FileIdentity, type FileStat, sameIdentity } from "./file-stat.ts";
import type { Earlier } from "./stale.ts";
import { readText, type TextForm } from "./text-form.ts";

export interface FoundText {
  readonly text: string;
  readonly form: TextForm;
  readonly content: Content;
  readonly identity: FileStat;
  /** How the file was when it said that. */
  readonly seen?: FileStat;
  /** Whoever wrote it looked at what was there at that time of the file system, and at none of our saves since. */
  readonly seenUntil?: bigint | undefined;
  /** It is in a file that we have replaced: what that held, and what was there before. */
  readonly writtenTo?: { readonly base: Base; readonly earlier: readonly Earlier[] };
  /** The file says more than this, by others: it is not what block and file have in common then. */
  readonly isPart?: true;
}

/** What was found in the place of a file. */
export type Found =
  | { readonly kind: "same" | "absent" }
  | { readonly kind: "unreadable"; readonly error: KumikoError }
  | ({ readonly kind: "text" } & FoundText);

/** How often a file is read that is written again and again meanwhile: then it is taken as it is. */
const LOOKS = 20;

/** Whoever changed a file without telling us. */
export const DISK: Invocation = { actor: "disk", kind: "disk" };

interface FoundPorts {
  readonly disk: Disk;
  /** Bytes above which a file is not read as text. */
  readonly largest: number;
}

export interface Reading {
  /** What it is known as: then it need not be read, unless it was touched since. */
  readonly known?: FileIdentity | undefined;
  readonly isTouched?: (stat: FileStat) => boolean;
  readonly before?: TextForm | undefined;
  /** Somebody who watches said that it has not been there for a while. */
  readonly isSaidGone?: boolean;
  /** Told how it was when what is answered held. */
  readonly seen?: (stat: FileStat) => void;
}

/**
 * What a file says once nobody is writing it. What was read is only believed if it is what was at rest: a program may have
 * emptied the file between the two, to write it anew, and half of it would be taken for all.
 */
export async function readAtRest(
  ports: FoundPorts,
  path: string,
  { known, isTouched, before, isSaidGone, seen }: Reading,
): Promise<Found> {
  for (let look = 1; ; look++) {
    const rested = await ports.disk.atRest(path, known, { isSaidGone });
    if (rested === undefined) return { kind: "absent" };
    if (rested instanceof KumikoError) return { kind: "unreadable", error: rested };
    if (known !== undefined && sameIdentity(rested, known) && isTouched?.(rested) !== true) {
      seen?.(rested);
      return { kind: "same" };
    }
    const found = await readFound(ports, path, before);
    const now = found.kind === "text" ? found.identity : ports.disk.look(path);
    const isSame = typeof now === "object" && sameIdentity(now, rested);
    if (isSame) seen?.(rested);
    if (isSame || look === LOOKS) return found;
  }
}

async function readFound(
  { disk, largest }: FoundPorts,
  path: string,
  before?: TextForm,
): Promise<Found> {
  const read = await disk.read(path, largest);
  if (read === undefined) return { kind: "absent" };
  if (read instanceof KumikoError) return { kind: "unreadable", error: read };
  const { bytes, stat: identity, content } = read;
  const text = textIn(path, bytes, { largest, before });
  if (text instanceof KumikoError) return { kind: "unreadable", error: text };
  return { kind: "text", ...text, content, identity, seen: identity };
}

/** What a file's bytes say; an error when they are no text. */
export function textIn(
  path: string,
  bytes: Uint8Array,
  { largest, before }: { readonly largest: number; readonly before?: TextForm | undefined },
): { readonly text: string; readonly form: TextForm } | KumikoError {
  const text = readText(bytes, largest, before);
  return "why" in text ? notText(path, text.why) : text;
}

function notText(path: string, why: string): KumikoError {
  const told: { readonly [why: string]: string } = {
    binary: "it holds NUL bytes, so it is no text",
    undecodable: "it is neither UTF-8 nor UTF-16 with a mark",
    too_large: "it is larger than the limit",
  };
  return new KumikoError(
    "file_unreadable",
    `${path} cannot be read as text: ${told[why] ?? why}. It is listed and left as it is.`,
    { path, why },
  );
}
