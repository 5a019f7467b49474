import * as z from "zod";
import type { Invocation, Kernel } from "../../kernel/index.ts";
import type { FileOperation } from "../../permission/index.ts";
import { fileStatuses } from "../file-status.ts";
import { Mounts } from "../mounts.ts";
import { findPlace, type FoundPlace } from "../places.ts";

export const pathArgument = z
  .string()
  .min(1)
  .describe("the file, relative to the folder; in another folder @name/path");

export const fileStatus = z
  .enum(fileStatuses)
  .describe("how the block and the file stand to one another");

export const diskTime = z
  .string()
  .optional()
  .describe(
    "when the file was last changed, in UTC: 2025-12-28T10:30:00.000Z; not when it is not there",
  );

/** What an Edit of a whole file answers. */
export const wholeFileAnswer = z.strictObject({
  path: z.string(),
  block_id: z.string(),
  version: z.int(),
  edit: z.string().describe("block_undo takes it back"),
});

/** Tells the caller which of the files could not be written. */
export function tellUnsaved(
  kernel: Kernel,
  { onUnsaved }: Invocation,
  blocks: readonly string[],
): void {
  for (const block of blocks) {
    const unsaved = Mounts.of(kernel).unsaved(block);
    if (unsaved !== undefined) onUnsaved?.(unsaved);
  }
}

/** The mount and path that are meant, if the caller may do that there. */
export async function placeFor(
  kernel: Kernel,
  { actor, kind = "person", folder }: Invocation,
  given: string,
  operation: FileOperation,
): Promise<FoundPlace> {
  const place = findPlace(Mounts.of(kernel), given, { folder });
  place.mount.check(place.path, operation, { actor, kind });
  return place;
}
