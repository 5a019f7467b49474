import { KumikoError } from "../../base/errors.ts";
import type { Connection } from "./connection.ts";
import { isBroken } from "./salvage/structure.ts";

/**
 * Writes the database anew without what is free, and empties the WAL. Until then bytes that were replaced
 * or deleted may lie in free pages, in slack and in the WAL; afterwards they are in no file. Needs about the
 * database's size of room, and holds up whoever writes.
 */
export function vacuum(connection: Connection): void {
  connection.run("VACUUM");
  const [checkpoint] = connection.database.pragma("wal_checkpoint(TRUNCATE)") as { busy: number }[];
  if (checkpoint?.busy !== 0) {
    throw new KumikoError(
      "in_use",
      "The write-ahead log could not be emptied because a reader does not end: replaced bytes may still lie in it. Try again.",
    );
  }
  if (scrubsPending(connection)) connection.run("DELETE FROM scrubs");
}

/** Noted with a rewrite, so that one whose process died before the vacuum is finished at the next opening. */
export function noteScrub(connection: Connection, block: string): void {
  connection.run("INSERT INTO scrubs (block) VALUES (?)", block);
}

/** In a broken database nobody knows, and none can be made up for: that it is broken is told at opening. */
export function scrubsPending(connection: Connection): boolean {
  try {
    return connection.get("SELECT 1 FROM scrubs LIMIT 1") !== undefined;
  } catch (error) {
    if (!isBroken(error)) throw error;
    return false;
  }
}
