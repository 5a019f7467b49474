import type { BlockRow, ChildrenQuery } from "../../kernel/ports.ts";
import type { Connection } from "./connection.ts";
import type { Heads } from "./heads.ts";
import type { Names } from "./names.ts";
import { checkRow, damagedRow, rowHash, type Scalar } from "./row-hash.ts";

/** No name has this number: it stands for "no parent". */
const NO_PARENT = 0;
/** SQLite's limits are integers. */
const EVERYTHING = Number.MAX_SAFE_INTEGER;

/** What blocks are now. In lists a damaged row is thrown with `after`, so that the caller can go on. */
export class BlockRows {
  readonly #connection: Connection;
  readonly #names: Names;
  readonly #heads: Heads;

  constructor(connection: Connection, names: Names, heads: Heads) {
    this.#connection = connection;
    this.#names = names;
    this.#heads = heads;
  }

  get(block: string): BlockRow | undefined {
    return this.#connection.together(() => {
      const row = this.#connection.get("SELECT * FROM rows WHERE name = ?", block);
      if (row !== undefined) return this.#read(row);
      const id = this.#names.id(block);
      if (id !== undefined && this.#heads.get(id)?.hasRow === true) {
        throw damagedRow({ table: "rows", key: block, block }, "it is missing");
      }
      return undefined;
    });
  }

  children({ context, parent, after, limit, newestFirst }: ChildrenQuery): BlockRow[] {
    const contextId = this.#names.id(context);
    const parentId = parent === null ? NO_PARENT : this.#names.id(parent);
    if (contextId === undefined || parentId === undefined) return [];
    const [comparison, direction] = newestFirst === true ? ["<", "DESC"] : [">", "ASC"];
    const begin = after === undefined ? "" : `AND place ${comparison} ?`;
    const sql = `SELECT * FROM rows WHERE context = ? AND parent = ? ${begin} ORDER BY place ${direction} LIMIT ?`;
    const page = Math.min(limit, EVERYTHING);
    const parameters = after === undefined ? [page] : [after, page];
    return this.#connection
      .all(sql, contextId, parentId, ...parameters)
      .map((row) => this.#read(row, row["place"] as string));
  }

  list(query: { context?: string; after?: string; limit: number }): BlockRow[] {
    const context = query.context === undefined ? undefined : this.#names.id(query.context);
    if (query.context !== undefined && context === undefined) return [];
    const where = context === undefined ? "" : "context = ? AND";
    const sql = `SELECT * FROM rows WHERE ${where} name > ? ORDER BY name LIMIT ?`;
    const parameters = [
      ...(context === undefined ? [] : [context]),
      query.after ?? "",
      Math.min(query.limit, EVERYTHING),
    ];
    return this.#connection
      .all(sql, ...parameters)
      .map((row) => this.#read(row, row["name"] as string));
  }

  withStatus(status: string): BlockRow[] {
    return this.#connection
      .all("SELECT * FROM rows WHERE status = ? ORDER BY name", status)
      .map((row) => this.#read(row));
  }

  at(context: string, parent: string | null, order: string): BlockRow | undefined {
    const parentId = parent === null ? NO_PARENT : this.#names.id(parent);
    const sql = "SELECT * FROM rows WHERE context = ? AND parent = ? AND place = ?";
    const row = this.#connection.get(sql, this.#names.id(context) ?? 0, parentId ?? -1, order);
    return row === undefined ? undefined : this.#read(row);
  }

  delete(block: string): void {
    this.#connection.run("DELETE FROM rows WHERE name = ?", block);
  }

  insert(row: BlockRow, blockId: number): void {
    this.#connection.run(
      `INSERT INTO rows
         (name, block, context, parent, place, kind, role, status, attributes, version, position, created, hash)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      row.block,
      blockId,
      this.#names.intern(row.context),
      row.parent === null ? NO_PARENT : this.#names.intern(row.parent),
      row.order,
      row.kind,
      row.role,
      row.status,
      row.attributes,
      row.version,
      row.position,
      row.created,
      rowHash("rows", columnsOf(row, blockId)),
    );
  }

  #read(row: { readonly [column: string]: unknown }, after?: string): BlockRow {
    const name = row["name"] as string;
    const blockId = row["block"] as number;
    const parent = row["parent"] as number;
    const read: BlockRow = {
      block: name,
      context: this.#names.describe(row["context"] as number),
      parent: parent === NO_PARENT ? null : this.#names.describe(parent),
      order: row["place"] as string,
      kind: row["kind"] as string,
      role: row["role"] as string,
      status: row["status"] as string,
      attributes: row["attributes"] as string,
      version: row["version"] as number,
      position: row["position"] as number,
      created: row["created"] as number,
    };
    // A damaged row may bear a wrong name or a wrong number: the one that is known says whose it is.
    const block = this.#names.id(name) === undefined ? this.#names.describe(blockId) : name;
    checkRow({ table: "rows", key: name, block, after }, row["hash"], columnsOf(read, blockId));
    return read;
  }
}

function columnsOf(row: BlockRow, blockId: number): Scalar[] {
  const { block, context, parent, order, kind, role, status, attributes } = row;
  const { version, position, created } = row;
  return [
    blockId,
    block,
    context,
    parent,
    order,
    kind,
    role,
    status,
    attributes,
    version,
    position,
    created,
  ];
}
