import type { ServerResponse } from "node:http";

/** Resolves when what was written has left: whoever does not read is not sent more. */
export async function roomIn(response: ServerResponse): Promise<void> {
  if (!response.writableNeedDrain || response.destroyed) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  response.once("drain", resolve);
  response.once("close", resolve);
  await promise;
  response.off("drain", resolve);
  response.off("close", resolve);
}
