import type { Database } from "better-sqlite3";
import { UnusableIndex } from "./unusable-index.ts";

/** The format of a database in which nothing is made yet: its writer may just be doing that. */
export const NOT_MADE = 0;

/** Another version of this program made it, or nobody has finished it: no damage, but nothing that can be read. */
export class OtherFormat extends UnusableIndex {}

export function formatOf(database: Database, schema: string): number {
  return Number(database.pragma(`${schema}.user_version`, { simple: true }));
}

export function checkFormat(database: Database, schema: string, wanted: number): void {
  const format = formatOf(database, schema);
  if (format !== wanted) throw new OtherFormat(`it is of format ${format}`);
}
