import type { CallRow, Lease } from "../../kernel/ports.ts";
import type { Connection } from "./connection.ts";
import type { Names } from "./names.ts";
import { checkRow, rowHash } from "./row-hash.ts";
import type { Seen } from "./seen.ts";

/** Answered calls. */
export class Calls {
  readonly #connection: Connection;
  readonly #names: Names;

  constructor(connection: Connection, names: Names) {
    this.#connection = connection;
    this.#names = names;
  }

  get(actor: string, call: string): CallRow | undefined {
    const id = this.#names.id(actor);
    if (id === undefined) return undefined;
    const sql = "SELECT fingerprint, answer, time, hash FROM calls WHERE actor = ? AND call = ?";
    const row = this.#connection.get(sql, id, call);
    if (row === undefined) return undefined;
    const [fingerprint, answer] = [row["fingerprint"] as string, row["answer"] as string];
    const time = row["time"] as number;
    const key = `${actor} ${call}`;
    checkRow({ table: "calls", key }, row["hash"], [actor, call, fingerprint, answer, time]);
    return { actor, call, fingerprint, answer, time };
  }

  insert({ actor, call, fingerprint, answer, time }: CallRow): void {
    const hash = rowHash("calls", [actor, call, fingerprint, answer, time]);
    const sql =
      "INSERT INTO calls (actor, call, fingerprint, answer, time, hash) VALUES (?, ?, ?, ?, ?, ?)";
    this.#connection.run(sql, this.#names.intern(actor), call, fingerprint, answer, time, hash);
  }

  /** Says how many. Damaged ones go too: nothing that is forgotten is needed whole. */
  forget(which: { before: number } | { containing: string }): number {
    return "before" in which
      ? this.#connection.change("DELETE FROM calls WHERE time < ?", which.before)
      : this.#connection.change("DELETE FROM calls WHERE instr(answer, ?) > 0", which.containing);
  }
}

/** The last number each actor used in each context. */
export class Sequences {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get(context: string, actor: string): number {
    const sql = "SELECT last, hash FROM sequences WHERE context = ? AND actor = ?";
    const row = this.#connection.get(sql, context, actor);
    if (row === undefined) return 0;
    const last = row["last"] as number;
    const key = `${context}~${actor}`;
    checkRow({ table: "sequences", key }, row["hash"], [context, actor, last]);
    return last;
  }

  note(context: string, actor: string, sequence: number): void {
    if (sequence <= this.get(context, actor)) return;
    const hash = rowHash("sequences", [context, actor, sequence]);
    const sql = "INSERT OR REPLACE INTO sequences VALUES (?, ?, ?, ?)";
    this.#connection.run(sql, context, actor, sequence, hash);
  }
}

/** Small named values in spaces. */
export class Settings {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get(space: string, key: string): string | undefined {
    const sql = "SELECT key, value, hash FROM settings WHERE space = ? AND key = ?";
    const row = this.#connection.get(sql, space, key);
    return row === undefined ? undefined : readSetting(space, row).value;
  }

  /** A damaged one is thrown with `after`, so that the caller can go on. */
  list(
    space: string,
    { after, limit = -1 }: { after?: string | undefined; limit?: number | undefined } = {},
  ): { key: string; value: string }[] {
    const begin = after === undefined ? "" : "AND key > ?";
    const sql = `SELECT key, value, hash FROM settings WHERE space = ? ${begin} ORDER BY key LIMIT ?`;
    const parameters = after === undefined ? [limit] : [after, limit];
    return this.#connection
      .all(sql, space, ...parameters)
      .map((row) => readSetting(space, row, row["key"] as string));
  }

  put(space: string, key: string, value: string | undefined): void {
    if (value === undefined) {
      this.#connection.run("DELETE FROM settings WHERE space = ? AND key = ?", space, key);
      return;
    }
    const hash = rowHash("settings", [space, key, value]);
    const sql = "INSERT OR REPLACE INTO settings VALUES (?, ?, ?, ?)";
    this.#connection.run(sql, space, key, value, hash);
  }
}

function readSetting(
  space: string,
  row: { readonly [column: string]: unknown },
  after?: string,
): { key: string; value: string } {
  const [key, value] = [row["key"] as string, row["value"] as string];
  checkRow({ table: "settings", key: `${space} ${key}`, after }, row["hash"], [space, key, value]);
  return { key, value };
}

/** Whoever held a lease last, and whether he still does. */
export interface LastLease {
  readonly lease: Lease;
  readonly held: boolean;
}

/** Who may write what, with tokens that grow for ever. Held until it is released or another takes it. */
export class Leases {
  readonly #connection: Connection;
  readonly #seen: Seen<string, LastLease> | undefined;

  constructor(connection: Connection, seen: Seen<string, LastLease> | undefined) {
    this.#connection = connection;
    this.#seen = seen;
  }

  acquire(
    name: string,
    holder: string,
    now: number,
    milliseconds: number,
  ): { granted: boolean; lease: Lease } {
    const last = this.find(name);
    if (last !== undefined && last.held && last.lease.expires > now) {
      return { granted: false, lease: last.lease };
    }
    const token = (last?.lease.token ?? 0) + 1;
    return {
      granted: true,
      lease: this.#put({ name, holder, token, expires: now + milliseconds }),
    };
  }

  renew({ name, token }: Lease, now: number, milliseconds: number): Lease | undefined {
    const last = this.find(name);
    if (last === undefined || !last.held || last.lease.token !== token) return undefined;
    return this.#put({ ...last.lease, expires: now + milliseconds });
  }

  release({ name, token }: Lease): void {
    const last = this.find(name);
    if (last?.lease.token === token) this.#put(last.lease, false);
  }

  holds(name: string, token: number): boolean {
    const last = this.find(name);
    return last !== undefined && last.held && last.lease.token === token;
  }

  find(name: string): LastLease | undefined {
    const known = this.#seen?.get(name);
    if (known !== undefined) return known;
    const sql = "SELECT holder, token, expires, held, hash FROM leases WHERE name = ?";
    const row = this.#connection.get(sql, name);
    if (row === undefined) return undefined;
    const holder = row["holder"] as string;
    const [token, expires, held] = [row["token"], row["expires"], row["held"]] as number[];
    const columns = [name, holder, token!, expires!, held!];
    checkRow({ table: "leases", key: name }, row["hash"], columns);
    const last = { lease: { name, holder, token: token!, expires: expires! }, held: held === 1 };
    this.#seen?.set(name, last);
    return last;
  }

  #put(lease: Lease, held = true): Lease {
    const { name, holder, token, expires } = lease;
    const columns = [name, holder, token, expires, held ? 1 : 0];
    const sql = "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?)";
    this.#connection.run(sql, ...columns, rowHash("leases", columns));
    this.#seen?.set(name, { lease, held });
    return lease;
  }
}
