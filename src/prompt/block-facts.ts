export type Role = "system" | "user" | "model" | "tool" | (string & {});
export type AttrValue = string | number | boolean | null;
export type Attrs = { readonly [name: string]: AttrValue };

/**
 * Whether a block's regions stand in its text. `logical`: no; its text is what it says, and rendering
 * adds tags, bullets and escapes. `open` and `closed`: yes; its text is what a model reads.
 */
export type BlockState = "logical" | "open" | "closed";

/** What a block is apart from its text and its place. */
export interface BlockFacts {
  readonly ownRole: Role | null;
  readonly tags: readonly string[];
  readonly style: readonly string[];
  readonly attrs: Attrs;
  readonly state: BlockState;
}

export interface BlockInit {
  readonly text?: string | undefined;
  readonly role?: Role | null | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly style?: string | readonly string[] | undefined;
  readonly attrs?: Attrs | undefined;
  readonly state?: BlockState | undefined;
  readonly id?: string | undefined;
}

/** Those that are not named stay as they are. */
export type FactChanges = Partial<Omit<BlockInit, "text" | "id">>;

const NOTHING: readonly string[] = Object.freeze([]);
const NO_ATTRS: Attrs = Object.freeze({});
const PLAIN: BlockFacts = Object.freeze({
  ownRole: null,
  tags: NOTHING,
  style: NOTHING,
  attrs: NO_ATTRS,
  state: "logical",
});

export function factsOf(init: string | BlockInit): BlockFacts {
  if (typeof init === "string") return PLAIN;
  const { role = null, tags = NOTHING, style = NOTHING, attrs = NO_ATTRS } = init;
  return {
    ownRole: role,
    tags: Object.isFrozen(tags) ? tags : Object.freeze([...tags]),
    style: words(style),
    attrs: Object.isFrozen(attrs) ? attrs : Object.freeze({ ...attrs }),
    state: init.state ?? "logical",
  };
}

export function changedFacts(before: BlockFacts, changes: FactChanges): BlockFacts {
  const { role, tags, style, attrs, state } = changes;
  return {
    ownRole: role === undefined ? before.ownRole : role,
    tags: tags === undefined ? before.tags : Object.freeze([...tags]),
    style: style === undefined ? before.style : words(style),
    attrs: attrs === undefined ? before.attrs : Object.freeze({ ...attrs }),
    state: state ?? before.state,
  };
}

function words(style: string | readonly string[]): readonly string[] {
  if (typeof style === "string")
    return Object.freeze(style.split(" ").filter((word) => word !== ""));
  return Object.isFrozen(style) ? style : Object.freeze([...style]);
}
