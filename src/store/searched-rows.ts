import type { BlockRow, SearchRequest } from "../kernel/ports.ts";
import { compareNames } from "./contract.ts";

/** A block to be looked through, with what its place in the answer depends on. */
export interface SearchedRow {
  readonly row: BlockRow;
  readonly path: string | undefined;
  /** The orders of its ancestors and its own, from the top. */
  readonly place: readonly string[];
}

type Wanted = Pick<SearchRequest, "kinds" | "context" | "pathPrefix" | "without">;

/** The row with its place, or undefined when it is not asked for. */
export function searchedRow(
  row: BlockRow,
  { kinds, context, pathPrefix, without }: Wanted,
  find: (block: string) => BlockRow | undefined,
): SearchedRow | undefined {
  if (kinds !== undefined && !kinds.includes(row.kind)) return undefined;
  if (context !== undefined && context !== row.context) return undefined;
  if (without?.has(row.block) === true) return undefined;
  const path = pathOf(row);
  if (pathPrefix !== undefined && path?.startsWith(pathPrefix) !== true) return undefined;
  return { row, path, place: placeOf(row, find) };
}

/** Context by context, each in the order of its conversation: parents before their children. */
export function compareSearched(left: SearchedRow, right: SearchedRow): number {
  const contexts = compareNames(left.row.context, right.row.context);
  if (contexts !== 0) return contexts;
  const depth = Math.min(left.place.length, right.place.length);
  for (let level = 0; level < depth; level += 1) {
    const orders = compareNames(left.place[level]!, right.place[level]!);
    if (orders !== 0) return orders;
  }
  return left.place.length - right.place.length || compareNames(left.row.block, right.row.block);
}

function placeOf(row: BlockRow, find: (block: string) => BlockRow | undefined): string[] {
  const place = [row.order];
  const seen = new Set([row.block]);
  for (let at = row; at.parent !== null && !seen.has(at.parent);) {
    seen.add(at.parent);
    const above = find(at.parent);
    if (above === undefined) break;
    place.push(above.order);
    at = above;
  }
  return place.toReversed();
}

function pathOf({ attributes }: BlockRow): string | undefined {
  let read: unknown;
  try {
    read = JSON.parse(attributes);
  } catch {
    // The port asks for JSON; a row without has no path either.
    return undefined;
  }
  const metadata = member(read, "metadata");
  const path = member(metadata, "path");
  return typeof path === "string" ? path : undefined;
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as { [name: string]: unknown })[name]
    : undefined;
}
