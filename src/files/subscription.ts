import { existsSync } from "node:fs";
import type { AsyncSubscription, Event } from "@parcel/watcher";

/** Something happened at a path, relative to the root; what, is to be looked up. */
export interface Hint {
  readonly path: string;
  /** The watcher saw it come. If it is a folder, it is watched from then on. */
  readonly came: boolean;
}

interface SubscriptionOptions {
  /** Folders that are not watched, relative to the root. */
  readonly leftOut: readonly string[];
  readonly onHints: (hints: Hint[]) => void;
  readonly onError: (error: Error) => void;
}

/** The watcher, as far as it is used. */
export type Subscribe = (root: string, options: SubscriptionOptions) => Promise<Subscription>;

export interface Subscription {
  close(): Promise<void>;
}

let subscriptions = 0;

/** Watches a folder with everything below it, as well as the watcher does by itself. A verb, which watches none, has none loaded. */
export const subscribe: Subscribe = async (root, { leftOut, onHints, onError }) => {
  const { default: watcher } = await import("@parcel/watcher");
  const spelled = spell(root, subscriptions++);
  const start = spelled === "/" ? 1 : spelled.length + 1;
  let isOpen = true;
  const told = (error: Error | null, events: Event[]) => {
    if (!isOpen) return;
    if (error !== null) onError(error);
    else
      onHints(
        events.map(({ path, type }) => ({ path: path.slice(start), came: type === "create" })),
      );
  };
  // Given as paths that are no patterns, whatever is in their names.
  const ignore = leftOut.filter((path) => !/[*?[\]{}()!+@|\\]/.test(path));
  const subscription: AsyncSubscription = await watcher.subscribe(spelled, told, { ignore });
  return {
    async close() {
      if (!isOpen) return;
      isOpen = false;
      try {
        await subscription.unsubscribe();
      } catch {
        // It fails when folders went that it had lost sight of. Then it keeps what it knew of this spelling of
        // the root for good; no other subscription uses that.
      }
    },
  };
};

/**
 * The same folder by a name that was not used before. The watcher remembers the tree of each name as long as
 * anything uses it and does not read it again: a second subscription would not watch the folders that the first
 * one missed, and one to a root that vanished and came back would watch nothing.
 */
function spell(root: string, number: number): string {
  const own = `/proc/${process.pid}`;
  if (number === 0 || process.platform !== "linux" || !existsSync(`${own}/root/proc`)) return root;
  // Each digit is one link; the system follows 40 of them.
  const digits = number.toString(2).replace(/./g, (digit) => {
    return digit === "0" ? `${own}/root` : `${own}/task/${process.pid}/root`;
  });
  return root === "/" ? digits : digits + root;
}
