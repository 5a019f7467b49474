import { z } from "zod";
import type { Invocation, Kernel } from "../../kernel/index.ts";
import type { FileOperation } from "../../permission/index.ts";
import type { Mount } from "../mount.ts";
import { Mounts } from "../mounts.ts";

export const pathArgument = z
  .string()
  .min(1)
  .describe("the file, relative to the folder; in another folder @name/path");

export const fileStatus = z
  .enum([
    "synced",
    "block_ahead",
    "disk_ahead",
    "both_changed",
    "deleted",
    "conflict",
    "binary",
    "too_large",
    "not_loaded",
  ])
  .describe("how the block and the file stand to one another");

/** The mount and path that are meant, if the caller may do that there. */
export async function placeFor(
  kernel: Kernel,
  { actor, kind = "person" }: Invocation,
  given: string,
  operation: FileOperation,
): Promise<{ mount: Mount; path: string }> {
  const place = await Mounts.of(kernel).place(given);
  place.mount.check(place.path, operation, { actor, kind });
  return place;
}
