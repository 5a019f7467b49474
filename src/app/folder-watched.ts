import type { World } from "../kernel/index.ts";
import type { Notice } from "../protocol/index.ts";

/** Resolves when the folders of a kernel were looked at and are watched; meanwhile it is told how far that is. */
export async function folderWatched(
  world: World,
  id: string | undefined,
  onProgress: (notice: Notice<"progress">) => void,
): Promise<void> {
  // Not when a command has it for a moment: then its first visitor opens it.
  const kernel = (await world.opened()).find((each) => each.id === id);
  if (kernel?.hasFiles !== true) return;
  const { Mounts } = await import("../files/index.ts");
  const listening = new AbortController();
  const { signal } = listening;
  const telling = (async () => {
    for await (const events of kernel.flow.subscribe("progress", { signal }))
      for (const { notice } of events) onProgress(notice);
  })();
  try {
    await Mounts.of(kernel).watched();
  } finally {
    listening.abort();
    await telling;
  }
}
