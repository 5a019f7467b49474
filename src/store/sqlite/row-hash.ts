import { hash } from "node:crypto";
import { KumikoError } from "../../base/errors.ts";

export type Scalar = string | number | null;

/**
 * SHA-256 over everything a row says: the table, every column with names in place of their numbers, and the
 * bytes it holds. A row that was changed, swapped or put under another key does not match.
 */
export function rowHash(table: string, columns: readonly Scalar[], bytes?: Uint8Array): Buffer {
  const text = JSON.stringify([table, ...columns]);
  const all = bytes === undefined ? text : joined(text, bytes);
  // By way of a string: Node gives a hash in bytes a memory of its own, which costs more than the hash.
  return Buffer.from(hash("sha256", all, "binary"), "binary");
}

/** Room for most rows: memory of its own for each takes longer than its hash. */
const room = Buffer.allocUnsafeSlow(4096);

function joined(text: string, bytes: Uint8Array): Uint8Array {
  // A character is at most three bytes.
  if (text.length * 3 + bytes.length > room.length)
    return Buffer.concat([Buffer.from(text), bytes]);
  const length = room.write(text);
  room.set(bytes, length);
  return room.subarray(0, length + bytes.length);
}

/** What was found damaged, for whoever must go on without it. */
export interface Found {
  readonly table: string;
  readonly key: string;
  readonly block?: string | undefined;
  /** In the order of the list that was asked for: go on behind it. */
  readonly after?: string | undefined;
  readonly position?: number | undefined;
}

export function checkRow(
  found: Found,
  stored: unknown,
  columns: readonly Scalar[],
  bytes?: Uint8Array,
): void {
  if (sameHash(rowHash(found.table, columns, bytes), stored)) return;
  throw damagedRow(found, "it does not match its hash");
}

export function sameHash(computed: Buffer, stored: unknown): boolean {
  return stored instanceof Uint8Array && computed.equals(stored);
}

/** Pages that SQLite cannot read say as much as is known about whose they are. */
export function damagedPage(table: string, block: string | undefined, why: string): KumikoError {
  const whose = block === undefined ? "" : ` for ${block}`;
  return new KumikoError(
    "damaged",
    `A page of the table ${table} cannot be read${whose} (${why}): the structure of the database is broken there. ` +
      "Write nothing more to it: run `kumiko doctor --export <folder>`, which saves what can be read, or restore a backup.",
    { table, key: block ?? "a page of it", why, block: block ?? null },
  );
}

export function damagedRow(found: Found, why: string): KumikoError {
  const { table, key, block, after, position } = found;
  const whose = block === undefined ? "" : ` of ${block}`;
  return new KumikoError(
    "damaged",
    `The row ${key}${whose} in ${table} is damaged: ${why}. Other blocks are not affected; \`kumiko doctor\` tells more.`,
    {
      table,
      key,
      why,
      block: block ?? null,
      ...(after === undefined ? {} : { after }),
      ...(position === undefined ? {} : { position }),
    },
  );
}
