import { KumikoError } from "../../base/errors.ts";
import type { Damage } from "../../kernel/ports.ts";
import type { Connection } from "./connection.ts";
import { damagedRow, rowHash, sameHash } from "./row-hash.ts";
import { brokenStructure, integrityFaults, isUnreadable } from "./salvage/structure.ts";
import type { Tables } from "./tables.ts";

const PAGE = 1000;

type Row = { readonly [column: string]: unknown };

/** Reads every row the way it is read in use and lists what is refused. Changes nothing. */
export function verifyTables(tables: Tables): Damage[] {
  const report = new Report();
  verifyNames(tables, report);
  verifyJournal(tables, report);
  verifyBlocks(tables, report);
  verifyEdits(tables, report);
  verifySmall(tables, report);
  verifyPages(tables, report);
  return report.damages;
}

class Report {
  readonly damages: Damage[] = [];
  readonly #seen = new Set<string>();

  add(damage: Damage): void {
    const key = JSON.stringify([damage.table, damage.key]);
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.damages.push(damage);
  }

  /** All rows of a list, or as many as come before a page that cannot be read: which one that is, the pages say. */
  *scan(connection: Connection, sql: string): Generator<Row, void, void> {
    const rows: Row[] = [];
    try {
      for (const row of connection.database.prepare<[], Row>(sql).iterate()) rows.push(row);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
    }
    yield* rows;
  }

  /** What is not found under the key it bears is damaged as much as what does not match its hash. */
  probe(table: string, key: string, block: string | undefined, read: () => unknown): unknown {
    try {
      const found = read();
      if (found === undefined) this.add({ table, key, block, why: "it is not found by its key" });
      return found;
    } catch (error) {
      const facts = error instanceof KumikoError ? error.facts : {};
      const fact = (name: string) => {
        const value = facts[name];
        return typeof value === "string" ? value : undefined;
      };
      this.add({
        table: fact("table") ?? table,
        key: fact("key") ?? key,
        block: fact("block") ?? block,
        why: fact("why") ?? (error as Error).message,
      });
      return error;
    }
  }
}

function verifyNames({ connection, names }: Tables, report: Report): void {
  for (const row of report.scan(connection, "SELECT * FROM names")) {
    const { id, text, copy, hash } = row as unknown as NameRow;
    for (const candidate of [text, copy]) {
      if (sameHash(rowHash("names", [id, candidate]), hash)) continue;
      report.add({
        table: "names",
        key: String(id),
        block: undefined,
        why: "a copy does not match",
      });
    }
  }
  for (const { id } of report.scan(connection, "SELECT id FROM names")) {
    report.probe("names", String(id), undefined, () => names.id(names.text(id as number)));
  }
}

interface NameRow {
  readonly id: number;
  readonly text: string;
  readonly copy: string;
  readonly hash: Uint8Array;
}

function verifyJournal({ connection, journal, names }: Tables, report: Report): void {
  for (const { position } of report.scan(connection, "SELECT position FROM commits")) {
    const at = position as number;
    report.probe("commits", String(at), undefined, () => journal.rows.between(at - 1, at)[0]);
  }
  for (const row of report.scan(connection, "SELECT block, first_position FROM segments")) {
    const [block, first] = [row["block"] as number, row["first_position"] as number];
    const name = names.describe(block);
    report.probe("segments", `${name} at ${first}`, name, () =>
      journal.segments.around(block, first),
    );
  }
  for (const { page } of report.scan(connection, "SELECT page FROM places")) {
    report.probe("places", String(page), undefined, () =>
      journal.places.blocksAt([(page as number) * 1024]),
    );
  }
  const last = report.probe("commits", "the last", undefined, () => journal.head());
  const head = typeof last === "number" ? last : 0;
  for (let position = 0; position < head;) {
    const read = report.probe("commits", `behind ${position}`, undefined, () =>
      journal.changesSince(position, PAGE),
    );
    const stopped = read instanceof KumikoError ? read.facts["position"] : undefined;
    position = typeof stopped === "number" && stopped > position ? stopped : position + PAGE;
  }
}

/** Blocks with commits and without what says how many there are. */
const headless = `
  SELECT block FROM commits UNION SELECT block FROM segments EXCEPT SELECT block FROM heads
`;

function verifyBlocks(tables: Tables, report: Report): void {
  const { connection, journal, names, rows, keyframes, snapshots } = tables;
  for (const { block } of report.scan(connection, "SELECT block FROM heads")) {
    const id = block as number;
    const name = names.describe(id);
    report.probe("heads", name, name, () => journal.heads.get(id));
    report.probe("commits", `of ${name}`, name, () => journal.commitsOf(name, 0));
    report.probe("rows", name, name, () => rows.get(name) ?? "none");
  }
  for (const { block } of report.scan(connection, headless)) {
    const name = names.describe(block as number);
    report.probe("heads", name, name, () => journal.commitsOf(name, 0));
  }
  for (const { name } of report.scan(connection, "SELECT name FROM rows")) {
    report.probe("rows", String(name), String(name), () => rows.get(name as string));
  }
  for (const [table, documents] of Object.entries({ keyframes, snapshots })) {
    for (const { block } of report.scan(connection, `SELECT block FROM ${table}`)) {
      const name = names.describe(block as number);
      report.probe(table, name, name, () => documents.get(name));
    }
  }
}

/** Also of actors who have none. */
const countEdits = `
  SELECT actor, count(first) AS count
  FROM (SELECT actor, first FROM edits UNION ALL SELECT actor, NULL FROM actors) GROUP BY actor
`;

function verifyEdits({ connection, names, actors, edits }: Tables, report: Report): void {
  for (const { first, edit } of report.scan(connection, "SELECT first, edit FROM edits")) {
    report.probe("edits", String(edit), undefined, () => edits.at(first as number));
    report.probe("edits", String(edit), undefined, () => edits.get(edit as string));
  }
  for (const { actor } of report.scan(connection, "SELECT actor FROM actors")) {
    const name = names.describe(actor as number);
    report.probe("actors", name, undefined, () => actors.newest(actor as number));
  }
  // At one moment: a chain is taken apart and put together again while it is written to.
  connection.together(() => {
    for (const { actor, count } of report.scan(connection, countEdits)) {
      const name = names.describe(actor as number);
      report.probe("actors", name, undefined, () => {
        const reached = [...edits.ofActor(name)].length;
        if (reached === count) return reached;
        const why = `of ${String(count)} Edits it leads to ${reached}`;
        throw damagedRow({ table: "actors", key: name }, why);
      });
    }
  });
}

function verifySmall(tables: Tables, report: Report): void {
  const { connection, names, calls, sequences, settings, leases } = tables;
  for (const row of report.scan(connection, "SELECT actor, call FROM calls")) {
    const [actor, call] = [names.describe(row["actor"] as number), row["call"] as string];
    report.probe("calls", `${actor} ${call}`, undefined, () => calls.get(actor, call));
  }
  for (const row of report.scan(connection, "SELECT context, actor FROM sequences")) {
    const [context, actor] = [row["context"] as string, row["actor"] as string];
    report.probe("sequences", `${context}~${actor}`, undefined, () => {
      const last = sequences.get(context, actor);
      return last === 0 ? undefined : last;
    });
  }
  for (const row of report.scan(connection, "SELECT space, key FROM settings")) {
    const [space, key] = [row["space"] as string, row["key"] as string];
    report.probe("settings", `${space} ${key}`, undefined, () => settings.get(space, key));
  }
  for (const { name } of report.scan(connection, "SELECT name FROM leases")) {
    report.probe("leases", String(name), undefined, () => leases.find(name as string));
  }
}

/** SQLite's own structure, indexes against tables included: hashes do not cover those. */
function verifyPages({ connection }: Tables, report: Report): void {
  for (const damage of brokenStructure(integrityFaults(connection))) report.add(damage);
}
