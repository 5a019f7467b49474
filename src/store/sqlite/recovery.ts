import { KumikoError } from "../../base/errors.ts";
import { Connection } from "./connection.ts";
import { migrate } from "./schema.ts";
import { Tables } from "./tables.ts";

const TAIL = 64;

/** Opens a database for reading on this thread; one that is new or of an older version is made ready first. */
export function openForReading(file: string): Tables {
  const { connection } = openForWriting(file);
  connection.database.pragma("query_only = ON");
  return new Tables(connection);
}

/** Opens a database for writing and brings its schema up to date. */
export function openForWriting(file: string): Tables {
  const connection = Connection.writer(file);
  try {
    migrate(connection, Date.now());
    return new Tables(connection, true);
  } catch (error) {
    connection[Symbol.dispose]();
    throw error;
  }
}

/**
 * Opens it again after a failed write. What failed may lie complete in the WAL although nobody was told so
 * (fsync failed after the last frame was written), and a restart would show it. So before anyone is told
 * that nothing was kept, a transaction of our own is written over it and fsynced.
 */
export function reopen(file: string, acknowledged: number, cause: string): Tables {
  const tables = openForWriting(file);
  try {
    verifyTail(tables, acknowledged);
    const { connection } = tables;
    connection.run("BEGIN IMMEDIATE");
    connection.run(
      "INSERT INTO incarnations SELECT coalesce(max(number), 0) + 1, ?, ? FROM incarnations",
      Date.now(),
      cause,
    );
    connection.run("COMMIT");
    return tables;
  } catch (error) {
    tables[Symbol.dispose]();
    throw error;
  }
}

function verifyTail({ journal }: Tables, acknowledged: number): void {
  const head = journal.head();
  if (head < acknowledged) {
    throw new KumikoError(
      "damaged",
      `The journal ends at ${head}, but ${acknowledged} was acknowledged: restore it from a backup, or run \`kumiko doctor\`.`,
      { table: "commits", key: String(acknowledged), block: null, head, acknowledged },
    );
  }
  journal.changesSince(Math.max(0, head - TAIL), TAIL);
}
