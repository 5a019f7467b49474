import type { SpliceRecord } from "./splice-record.ts";
import type { Stamp } from "./types.ts";

export interface HistoryEntry extends Stamp {
  readonly version: number;
  readonly kind: "text" | "structure" | "baseline" | "birth" | "import" | "undo" | "redo";
  /** Size of the change, in UTF-16 units. */
  readonly inserted: number;
  readonly removed: number;
}

export interface HistoryPage {
  readonly entries: readonly HistoryEntry[];
  /** Pass it as `before` for the next page; undefined at the end. */
  readonly before: number | undefined;
}

export function pageOfHistory(record: SpliceRecord, before: number, limit: number): HistoryPage {
  const entries: HistoryEntry[] = [];
  let version = before - 1;
  for (; version > 0 && entries.length < limit; version--)
    entries.push(historyEntry(record, version));
  return { entries, before: version > 0 ? version + 1 : undefined };
}

export function historyEntry(record: SpliceRecord, version: number): HistoryEntry {
  const { editIndex, ...stamp } = record.stampOf(version);
  const special = record.specials.get(version);
  const splices = record.splicesOf(version);
  return {
    version,
    kind: special?.kind === "flip" ? (special.active ? "redo" : "undo") : (special?.kind ?? "text"),
    ...stamp,
    edit: record.editIds[editIndex]!,
    time: record.times[version - 1]!,
    inserted: splices.reduce((sum, splice) => sum + splice.insert.length, 0),
    removed: splices.reduce((sum, splice) => sum + splice.remove, 0),
  };
}
