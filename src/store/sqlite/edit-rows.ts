import { ByteReader, ByteWriter } from "../../base/bytes.ts";
import type { EditRow } from "../../kernel/ports.ts";
import type { Actors } from "./actors.ts";
import type { Connection } from "./connection.ts";
import type { Names } from "./names.ts";
import { checkRow, damagedRow, rowHash, type Scalar } from "./row-hash.ts";

interface Link {
  readonly row: EditRow;
  /** The first position of the Edit that comes next in its actor's chain; 0 at the end. */
  readonly previous: number;
}

/**
 * Every Edit of text: one small row, whatever number of commits it has. Keyed by its first position. Those of
 * one actor form a chain from the last commit backwards, which begins in `actors`: an index would cost each
 * group of commits one more page per actor.
 */
export class EditRows {
  readonly #connection: Connection;
  readonly #names: Names;
  readonly #actors: Actors;

  constructor(connection: Connection, names: Names, actors: Actors) {
    this.#connection = connection;
    this.#names = names;
    this.#actors = actors;
  }

  get(edit: string): EditRow | undefined {
    return this.#one("SELECT * FROM edits WHERE edit = ?", edit)?.row;
  }

  at(first: number): EditRow | undefined {
    return this.#at(first)?.row;
  }

  /** Goes on where another stands in the chain, so that to go through all of them is one pass. */
  newest(actor: string, before?: EditRow): EditRow | undefined {
    return this.#connection.together(() => {
      const end = before?.last ?? Infinity;
      for (const { row } of this.#chain(actor, before && this.#at(before.first)))
        if (row.active && row.last < end) return row;
      return undefined;
    });
  }

  newestUndone(actor: string): EditRow | undefined {
    const id = this.#names.id(actor);
    if (id === undefined) return undefined;
    return this.#connection.together(() => {
      const undone = this.#one(
        "SELECT * FROM edits WHERE flipped_by = ? AND active = 0 ORDER BY flipped_at DESC LIMIT 1",
        id,
      )?.row;
      if (undone === undefined) return undefined;
      const written = this.#chain(actor).next().value?.row.last ?? 0;
      return written < undone.flipped!.position ? undone : undefined;
    });
  }

  /** All of an actor, the one with the last commit first. */
  *ofActor(actor: string): Generator<EditRow> {
    for (const { row } of this.#chain(actor)) yield row;
  }

  /** What a batch made of its Edits; those that begin behind `head` are new. */
  put(rows: readonly EditRow[], head: number): void {
    for (const row of rows.toSorted((left, right) => left.last - right.last)) {
      if (row.first > head) this.#insert(row);
      else this.#update(row);
    }
  }

  #insert(row: EditRow): void {
    const { edit, first } = row;
    const actor = this.#names.intern(row.actor);
    const previous = this.#actors.newest(actor);
    this.#connection.run(
      "INSERT INTO edits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      first,
      edit,
      actor,
      ...this.#changing(row, previous),
    );
    this.#actors.put(actor, row.actor, first);
  }

  #update(row: EditRow): void {
    const sql = "SELECT last, previous FROM edits WHERE first = ?";
    const stored = this.#connection.get(sql, row.first)!;
    const previous = stored["previous"] as number;
    const actor = this.#names.intern(row.actor);
    const newest = this.#actors.newest(actor);
    if (stored["last"] === row.last || newest === row.first) {
      this.#replace({ row, previous });
      return;
    }
    this.#replace({ row: this.#above(row), previous });
    this.#replace({ row, previous: newest });
    this.#actors.put(actor, row.actor, row.first);
  }

  #replace({ row, previous }: Link): void {
    this.#connection.run(
      `UPDATE edits SET blocks = ?, last = ?, active = ?, flipped_by = ?, flipped_at = ?, previous = ?, hash = ?
       WHERE first = ?`,
      ...this.#changing(row, previous),
      row.first,
    );
  }

  /** What changes in an Edit's row, in the order of its columns. */
  #changing(row: EditRow, previous: number): (Uint8Array | number | null)[] {
    const { last, active, flipped } = row;
    return [
      this.#packed(row.blocks),
      last,
      active ? 1 : 0,
      flipped === undefined ? null : this.#names.intern(flipped.actor),
      flipped?.position ?? null,
      previous,
      rowHash("edits", columnsOf(row, previous)),
    ];
  }

  /** The one that leads to an Edit. Near the beginning: what is written to was written to not long ago. */
  #above({ actor, first, edit }: EditRow): EditRow {
    for (const { row, previous } of this.#chain(actor)) if (previous === first) return row;
    throw damagedRow({ table: "edits", key: edit }, "no later Edit of its actor leads to it");
  }

  *#chain(actor: string, from?: Link): Generator<Link, undefined> {
    const id = this.#names.id(actor);
    let first = from?.previous ?? (id === undefined ? 0 : this.#actors.newest(id));
    let above = from?.row;
    while (first !== 0) {
      const link = this.#at(first);
      const goesOn = link !== undefined && link.row.actor === actor;
      if (!goesOn || link.row.last >= (above?.last ?? Infinity)) {
        const found =
          above === undefined
            ? { table: "actors", key: actor }
            : { table: "edits", key: above.edit };
        throw damagedRow(found, "it does not lead to an earlier Edit of its actor");
      }
      yield link;
      above = link.row;
      first = link.previous;
    }
  }

  #at(first: number): Link | undefined {
    return this.#one("SELECT * FROM edits WHERE first = ?", first);
  }

  #one(sql: string, parameter: string | number): Link | undefined {
    const row = this.#connection.get(sql, parameter);
    if (row === undefined) return undefined;
    const edit = row["edit"] as string;
    const flippedBy = row["flipped_by"] as number | null;
    const found = { table: "edits", key: edit };
    const read: EditRow = {
      edit,
      actor: this.#names.describe(row["actor"] as number),
      blocks: this.#blocks(row["blocks"], () => damagedRow(found, "its blocks cannot be read")),
      first: row["first"] as number,
      last: row["last"] as number,
      active: row["active"] === 1,
      ...(flippedBy === null
        ? {}
        : {
            flipped: {
              actor: this.#names.describe(flippedBy),
              position: row["flipped_at"] as number,
            },
          }),
    };
    const previous = row["previous"] as number;
    checkRow(found, row["hash"], columnsOf(read, previous, row["active"] as number));
    return { row: read, previous };
  }

  #packed(blocks: readonly string[]): Uint8Array {
    const writer = new ByteWriter();
    for (const block of blocks) writer.count(this.#names.intern(block));
    return writer.finish();
  }

  #blocks(bytes: unknown, unreadable: () => Error): string[] {
    if (!(bytes instanceof Uint8Array)) throw unreadable();
    const numbers: number[] = [];
    try {
      const reader = new ByteReader(bytes);
      while (!reader.done) numbers.push(reader.count());
    } catch {
      throw unreadable();
    }
    return numbers.map((number) => this.#names.describe(number));
  }
}

function columnsOf(row: EditRow, previous: number, stored = row.active ? 1 : 0): Scalar[] {
  const { edit, actor, blocks, first, last, flipped } = row;
  const flip = [flipped?.actor ?? null, flipped?.position ?? null];
  return [first, edit, actor, last, stored, ...flip, previous, ...blocks];
}
