import { KumikoError } from "../base/index.ts";
import type { Invocation } from "../kernel/index.ts";
import type { Content } from "./content.ts";
import type { Disk } from "./disk.ts";
import type { FileIdentity } from "./file-stat.ts";
import { readText, type TextForm } from "./text-form.ts";

export interface FoundText {
  readonly text: string;
  readonly form: TextForm;
  readonly content: Content;
  readonly identity: FileIdentity;
  /** It is known to be made of what was last on disk, not of what was there before a save of ours. */
  readonly isFresh?: boolean;
}

/** What was found in the place of a file. */
export type Found =
  | { readonly kind: "same" | "absent" }
  | { readonly kind: "unreadable"; readonly error: KumikoError }
  | ({ readonly kind: "text" } & FoundText);

/** Whoever changed a file without telling us. */
export const DISK: Invocation = { actor: "disk", kind: "disk" };

/** What a file that is at rest says. `largest`: bytes above which it is not read as text. */
export async function readFound(
  { disk, largest }: { readonly disk: Disk; readonly largest: number },
  path: string,
  before?: TextForm,
): Promise<Found> {
  const read = await disk.read(path, largest);
  if (read === undefined) return { kind: "absent" };
  if (read instanceof KumikoError) return { kind: "unreadable", error: read };
  const { bytes, stat: identity, content } = read;
  const text = readText(bytes, largest, before);
  if ("why" in text) return { kind: "unreadable", error: notText(path, text.why) };
  return { kind: "text", ...text, content, identity };
}

function notText(path: string, why: string): KumikoError {
  const told: { readonly [why: string]: string } = {
    binary: "it holds zero bytes, so it is no text",
    undecodable: "it is neither UTF-8 nor UTF-16 with a mark",
    too_large: "it is larger than the limit",
  };
  return new KumikoError(
    "file_unreadable",
    `${path} cannot be read as text: ${told[why] ?? why}. It is listed and left as it is.`,
    { path, why },
  );
}
