import { Actors } from "./actors.ts";
import { BlockRows } from "./block-rows.ts";
import type { Connection } from "./connection.ts";
import { Documents } from "./documents.ts";
import { EditRows } from "./edit-rows.ts";
import type { Head } from "./heads.ts";
import { Journal } from "./journal.ts";
import { Names } from "./names.ts";
import { Seen } from "./seen.ts";
import { Calls, type LastLease, Leases, Sequences, Settings } from "./small-tables.ts";

/** Every table of one database through one connection; the writer and each reader have their own. */
export class Tables implements Disposable {
  readonly connection: Connection;
  readonly names: Names;
  readonly journal: Journal;
  readonly rows: BlockRows;
  readonly actors: Actors;
  readonly edits: EditRows;
  readonly calls: Calls;
  readonly sequences: Sequences;
  readonly keyframes: Documents;
  readonly snapshots: Documents;
  readonly settings: Settings;
  readonly leases: Leases;
  readonly #seen: Pick<Seen<unknown, unknown>, "forget">[] = [];

  /** Only the one that writes may remember what it has seen. */
  constructor(connection: Connection, remembers = false) {
    const seen = <Key, Value>() => {
      if (!remembers) return undefined;
      const made = new Seen<Key, Value>();
      this.#seen.push(made);
      return made;
    };
    this.connection = connection;
    this.names = new Names(connection);
    this.journal = new Journal(connection, this.names, {
      heads: seen<number, Head>(),
      last: seen<"last", number>(),
    });
    this.rows = new BlockRows(connection, this.names, this.journal.heads);
    this.actors = new Actors(connection, this.names, seen<number, number>());
    this.edits = new EditRows(connection, this.names, this.actors);
    this.calls = new Calls(connection, this.names);
    this.sequences = new Sequences(connection);
    this.keyframes = new Documents(connection, this.names, "keyframes");
    this.snapshots = new Documents(connection, this.names, "snapshots");
    this.settings = new Settings(connection);
    this.leases = new Leases(connection, seen<string, LastLease>());
  }

  /** After a rollback, and when another has written. */
  forget(): void {
    this.names.forget();
    for (const seen of this.#seen) seen.forget();
  }

  [Symbol.dispose](): void {
    this.connection[Symbol.dispose]();
  }
}
