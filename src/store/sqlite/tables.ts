import { BlockRows } from "./block-rows.ts";
import type { Connection } from "./connection.ts";
import { Documents } from "./documents.ts";
import { Journal } from "./journal.ts";
import { Names } from "./names.ts";
import { Calls, Leases, Sequences, Settings } from "./small-tables.ts";

/** Every table of one database through one connection; the writer and each reader have their own. */
export class Tables implements Disposable {
  readonly connection: Connection;
  readonly names: Names;
  readonly journal: Journal;
  readonly rows: BlockRows;
  readonly calls: Calls;
  readonly sequences: Sequences;
  readonly keyframes: Documents;
  readonly snapshots: Documents;
  readonly settings: Settings;
  readonly leases: Leases;

  constructor(connection: Connection) {
    this.connection = connection;
    this.names = new Names(connection);
    this.journal = new Journal(connection, this.names);
    this.rows = new BlockRows(connection, this.names, this.journal.heads);
    this.calls = new Calls(connection, this.names);
    this.sequences = new Sequences(connection);
    this.keyframes = new Documents(connection, this.names, "keyframes");
    this.snapshots = new Documents(connection, this.names, "snapshots");
    this.settings = new Settings(connection);
    this.leases = new Leases(connection);
  }

  [Symbol.dispose](): void {
    this.connection[Symbol.dispose]();
  }
}
