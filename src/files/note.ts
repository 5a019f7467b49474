import * as z from "zod";
import type { Base, FileRecord } from "./ledger.ts";

const versioned = z.object({ version: z.number() });
const form = z.object({
  encoding: z.enum(["utf-8", "utf-16le", "utf-16be"]),
  bom: z.boolean(),
  crlf: z.boolean(),
  returns: z.literal(true).exactOptional(),
});
const identity = z.object({
  inode: z.number(),
  device: z.number(),
  size: z.number(),
  nanoseconds: z
    .string()
    .regex(/^-?\d+$/)
    .transform(BigInt),
});
/** A record as it is noted: without a hash, which would take longer than all the rest of a save. */
const noted = z.object({
  path: z.string(),
  number: z.number(),
  synced: z.object({ base: versioned, form, identity }).optional(),
  left: z.union([versioned, z.object({ text: z.literal("") })]).optional(),
  form: form.optional(),
  mode: z.number().optional(),
  wanted: z.boolean().optional(),
});

/** Undefined for one that has text in it: that is for the journal alone, from which it can be purged. */
export function noteOf({ path, number, synced, ...rest }: FileRecord): string | undefined {
  if (synced === undefined)
    return isText(rest.left) ? undefined : JSON.stringify({ path, number, ...rest });
  if (!("version" in synced.base)) return undefined;
  const { inode, device, size, nanoseconds } = synced.identity;
  const same = { inode, device, size, nanoseconds: String(nanoseconds) };
  const { base, form: kept } = synced;
  return JSON.stringify({ path, number, synced: { base, form: kept, identity: same } });
}

/** Undefined when it is none, whatever made it so: a part of one, or a later version of this program. */
export function readNote(note: string): z.output<typeof noted> | undefined {
  try {
    return noted.parse(JSON.parse(note));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return undefined;
    throw error;
  }
}

function isText(base: Base | undefined): boolean {
  return base !== undefined && "text" in base && base.text !== "";
}
