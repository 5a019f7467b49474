import type { Stretch } from "./changes-since.ts";
import type { InsertStore } from "./insert-store.ts";
import type { Splice } from "./types.ts";

/** The splices that lead from the current text back to the earlier one the stretches start from. */
export function splicesBack(stretches: readonly Stretch[], inserted: InsertStore): Splice[] {
  const splices: Splice[] = [];
  let at = 0;
  let remove = 0;
  let insert = "";
  const flush = (): void => {
    if (remove > 0 || insert !== "") splices.push({ at, remove, insert });
    at += insert.length;
    remove = 0;
    insert = "";
  };
  for (const stretch of stretches) {
    if (stretch.kind === "fresh") remove += stretch.length;
    else if (stretch.kind === "gone") {
      insert += inserted.slice(stretch.counter, stretch.counter + stretch.length);
    } else {
      flush();
      at += stretch.length;
    }
  }
  flush();
  return splices;
}
