import type { Store, StoredCommit } from "./ports.ts";
import { isDamage } from "./quarantine.ts";

const PAGE = 1024;
const PAGE_BYTES = 4_000_000;

/** Every commit up to a position, in order; undefined in the place of one that is damaged. */
export async function* readableCommits(
  store: Store,
  until?: number,
): AsyncGenerator<StoredCommit | undefined, void, void> {
  const head = until ?? (await store.head());
  let limit = PAGE;
  for (let position = 0; position < head;) {
    try {
      const page = await store.changesSince(position, Math.min(limit, head - position), PAGE_BYTES);
      yield* page;
      position = page.at(-1)?.position ?? head;
    } catch (error) {
      if (!isDamage(error)) throw error;
      // One of the page is damaged and hides the others: one by one, they are told apart.
      if (limit === 1) {
        yield undefined;
        position += 1;
      }
      limit = limit === 1 ? PAGE : 1;
    }
  }
}
