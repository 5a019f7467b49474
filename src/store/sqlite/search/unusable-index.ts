import BetterSqlite from "better-sqlite3";
import { KumikoError } from "../../../base/errors.ts";

/** Why an index cannot be used: it is damaged, or of another journal or layout. */
export class UnusableIndex extends Error {}

/** Why an index is of no use, if that is what an error says. */
export function unusable(error: unknown): string | undefined {
  if (error instanceof UnusableIndex) return error.message;
  if (error instanceof KumikoError && error.code === "damaged") return error.message;
  if (!(error instanceof BetterSqlite.SqliteError)) return undefined;
  return /^SQLITE_(CORRUPT|NOTADB|ERROR|SCHEMA)/.test(error.code)
    ? `${error.code}, ${error.message}`
    : undefined;
}
