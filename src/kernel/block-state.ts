import { damaged } from "../base/index.ts";
import type {
  BlockFlags,
  BlockKind,
  BlockMetadata,
  BlockRole,
  BlockStatus,
} from "../protocol/index.ts";
import type { BlockRow, NewBlockRow } from "./ports.ts";

/** What a block is, apart from its text. */
export interface BlockState {
  readonly block: string;
  readonly context: string;
  readonly parent: string | null;
  readonly order: string;
  readonly kind: BlockKind;
  readonly role: BlockRole;
  readonly status: BlockStatus;
  readonly flags: BlockFlags;
  readonly metadata: BlockMetadata;
  /** Who is writing it while it runs: when they are gone, it is closed as an error. */
  readonly owner: string | null;
  readonly created: number;
}

interface Attributes {
  readonly flags: BlockFlags;
  readonly metadata: BlockMetadata;
  readonly owner: string | null;
  readonly created: number;
}

export function toRow(state: BlockState): NewBlockRow {
  const { flags, metadata, owner, created, ...columns } = state;
  const attributes: Attributes = { flags, metadata, owner, created };
  return { ...columns, attributes: JSON.stringify(attributes) };
}

export function fromRow(row: NewBlockRow | BlockRow): BlockState {
  let attributes: Attributes;
  try {
    attributes = JSON.parse(row.attributes) as Attributes;
  } catch {
    throw damaged(`the attributes of ${row.block} are not JSON`);
  }
  return {
    block: row.block,
    context: row.context,
    parent: row.parent,
    order: row.order,
    kind: row.kind as BlockKind,
    role: row.role as BlockRole,
    status: row.status as BlockStatus,
    ...attributes,
  };
}
