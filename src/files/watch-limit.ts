import { readFileSync } from "node:fs";

/** What to tell a person when the system does not let us watch any more; undefined when that is not the reason. */
export function watchLimit(error: Error): string | undefined {
  const isWatches = /No space left on device|ENOSPC/.test(error.message);
  const isInstances = /Too many open files|EMFILE/.test(error.message);
  if (!isWatches && !isInstances) return undefined;
  const name = isWatches ? "max_user_watches" : "max_user_instances";
  const now = currentLimit(name);
  return (
    `The system lets this account watch no more folders (fs.inotify.${name}${now === undefined ? "" : ` is ${now}`}). ` +
    "Changes are found by looking every 2 seconds instead. " +
    `To raise the limit: sudo sysctl fs.inotify.${name}=${Math.max(524_288, 2 * (now ?? 0))}`
  );
}

function currentLimit(name: string): number | undefined {
  try {
    return Number(readFileSync(`/proc/sys/fs/inotify/${name}`, "utf8"));
  } catch {
    // Only the number is missing in the sentence then.
    return undefined;
  }
}
