import { damaged, deepFreeze } from "../base/index.ts";
import type {
  BlockFlags,
  BlockKind,
  BlockMetadata,
  BlockRole,
  BlockState,
  BlockStatus,
} from "../protocol/index.ts";
import type { BlockRow, NewBlockRow } from "./ports.ts";

export type { BlockState } from "../protocol/index.ts";

interface Attributes {
  readonly flags: BlockFlags;
  readonly metadata: BlockMetadata;
  readonly owner: string | null;
  /** Kept only while there is one. */
  readonly lease?: BlockState["lease"];
  /** Likewise. */
  readonly made?: BlockState["made"];
  readonly created: number;
}

export function toRow(state: BlockState): NewBlockRow {
  const { flags, metadata, owner, lease, made, created, ...columns } = state;
  const kept = { ...(lease && { lease }), ...(made && { made }) };
  const attributes: Attributes = { flags, metadata, owner, ...kept, created };
  return { ...columns, attributes: JSON.stringify(attributes) };
}

/** Frozen all the way down: it is handed to everyone, and only the door makes another. */
export function fromRow(row: NewBlockRow | BlockRow): BlockState {
  let attributes: Attributes;
  try {
    attributes = JSON.parse(row.attributes) as Attributes;
  } catch {
    throw damaged(`the attributes of ${row.block} are not JSON`);
  }
  return deepFreeze({
    block: row.block,
    context: row.context,
    parent: row.parent,
    order: row.order,
    kind: row.kind as BlockKind,
    role: row.role as BlockRole,
    status: row.status as BlockStatus,
    lease: null,
    ...attributes,
  });
}
