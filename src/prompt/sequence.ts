import { SumLeaf, SumTree } from "../base/sum-tree.ts";

/** Enough that the tree above stays flat; scanning one leaf still costs less than finding it. */
const LEAF_ITEMS = 48;

/**
 * What stands in a sequence: a chunk with its text, or the place where a block begins or ends, which
 * has no width.
 */
export abstract class Item {
  /** The sequence's own: where the item stands, or null when it stands nowhere. */
  leaf: ItemLeaf | null = null;
  /** In UTF-16 units. Only chunks have one. */
  get width(): number {
    return 0;
  }

  /** What it adds to the text. */
  get ownText(): string {
    return "";
  }
}

/** Some items that stand side by side. Kinds of leaves that keep them in another form make them when asked. */
export class ItemLeaf extends SumLeaf {
  readonly owner: Sequence;
  protected list: Item[] | null;

  constructor(owner: Sequence, items: Item[] | null) {
    let width = 0;
    if (items !== null) for (const item of items) width += item.width;
    super([width]);
    this.owner = owner;
    this.list = items;
    if (items !== null) for (const item of items) item.leaf = this;
  }

  get items(): Item[] {
    return this.list ?? this.expand();
  }

  set items(items: Item[]) {
    this.list = items;
  }

  get isExpanded(): boolean {
    return this.list !== null;
  }

  protected expand(): Item[] {
    throw new RangeError("a plain leaf always has its items");
  }

  /** How much stands in it before an item. */
  widthBefore(item: Item): number {
    let width = 0;
    for (const each of this.items) {
      if (each === item) break;
      width += each.width;
    }
    return width;
  }

  get text(): string {
    let text = "";
    for (const item of this.items) text += item.ownText;
    return text;
  }
}

/**
 * Items in the order of their text, each with a width, in a counted tree: where an item starts and
 * which item stands at an offset are answered in O(log n), however deeply blocks are nested.
 *
 * Invariants: every item knows its leaf; a leaf is never empty; there is always an item, because a
 * block's beginning and end leave only together with the whole tree.
 */
export class Sequence {
  readonly #counted: SumTree<ItemLeaf>;
  /** A leaf that grew, and by how much: counted when somebody asks, because most growth is by few units. */
  #grown: ItemLeaf | null = null;
  #growth = 0;

  /**
   * A leaf whose last chunk grows while nobody looks: it then counts by itself. Whoever asks for
   * anything ends that.
   */
  tip: (ItemLeaf & { takeGrowth(): number }) | null = null;

  constructor(items: Item[]) {
    this.#counted = new SumTree(this.#leaves(items), 1);
  }

  get #tree(): SumTree<ItemLeaf> {
    if (this.tip !== null) this.dropTip();
    if (this.#grown !== null) {
      this.#counted.add(this.#grown, 0, this.#growth);
      this.#grown = null;
    }
    return this.#counted;
  }

  get width(): number {
    return this.#tree.total(0);
  }

  get firstLeaf(): ItemLeaf {
    return this.#counted.first;
  }

  startOf(item: Item): number {
    const leaf = item.leaf!;
    return this.startOfLeaf(leaf) + leaf.widthBefore(item);
  }

  startOfLeaf(leaf: ItemLeaf): number {
    return this.#tree.startOf(leaf, 0);
  }

  dropTip(): void {
    const { tip } = this;
    this.tip = null;
    if (tip !== null) this.grow(tip, tip.takeGrowth());
  }

  protected insertLeaf(after: ItemLeaf, leaf: ItemLeaf): void {
    this.#tree.insertAfter(after, leaf);
  }

  protected grow(leaf: ItemLeaf, width: number): void {
    if (leaf === this.#grown) this.#growth += width;
    else {
      if (this.#grown !== null) this.#counted.add(this.#grown, 0, this.#growth);
      this.#grown = leaf;
      this.#growth = width;
    }
  }

  /**
   * The item with text at an offset, and where it starts. Between two of them: the one that ends
   * there when `leftward`, else the one that begins there. Null where there is none.
   */
  at(offset: number, leftward: boolean): { item: Item; start: number } | null {
    const leaf = this.#tree.find(0, offset, leftward);
    let start = this.#tree.before[0]!;
    for (const item of leaf.items) {
      const end = start + item.width;
      if (leftward ? start < offset && offset <= end : start <= offset && offset < end) {
        return { item, start };
      }
      start = end;
    }
    return null;
  }

  insertBefore(place: Item, item: Item): void {
    const leaf = place.leaf!;
    const { items } = leaf;
    const at = items.lastIndexOf(place);
    if (items.length < LEAF_ITEMS) {
      // Array.splice would make an array of what it did not remove, a million times.
      for (let index = items.length; index > at; index--) items[index] = items[index - 1]!;
      items[at] = item;
      item.leaf = leaf;
      if (item.width !== 0) this.#tree.add(leaf, 0, item.width);
      return;
    }
    this.#insertAcross(leaf, at, [item]);
  }

  insertAllBefore(place: Item, items: readonly Item[]): void {
    if (items.length === 0) return;
    const leaf = place.leaf!;
    const at = leaf.items.lastIndexOf(place);
    if (leaf.items.length + items.length > LEAF_ITEMS) {
      this.#insertAcross(leaf, at, items);
      return;
    }
    leaf.items.splice(at, 0, ...items);
    let width = 0;
    for (const item of items) {
      item.leaf = leaf;
      width += item.width;
    }
    this.#tree.add(leaf, 0, width);
  }

  /** Takes out everything from one item to another, both included, and gives it in order. */
  remove(first: Item, last: Item): Item[] {
    const removed: Item[] = [];
    let leaf = first.leaf!;
    let from = leaf.items.indexOf(first);
    for (;;) {
      const ends = leaf === last.leaf;
      const to = ends ? leaf.items.lastIndexOf(last) + 1 : leaf.items.length;
      const next = leaf.next as ItemLeaf | null;
      let width = 0;
      for (let index = from; index < to; index++) {
        const item = leaf.items[index]!;
        width += item.width;
        removed.push(item);
      }
      if (from === 0 && to === leaf.items.length) this.#tree.remove(leaf);
      else {
        leaf.items.splice(from, to - from);
        this.#tree.add(leaf, 0, -width);
      }
      if (ends) break;
      leaf = next!;
      from = 0;
    }
    for (const item of removed) item.leaf = null;
    return removed;
  }

  /** An item has become wider or narrower. */
  resize(item: Item, difference: number): void {
    this.#tree.add(item.leaf!, 0, difference);
  }

  /** The items from one to another, both included. */
  *between(first: Item, last: Item): Generator<Item, void> {
    let { leaf } = first;
    let index = leaf!.items.indexOf(first);
    while (leaf !== null) {
      const { items }: ItemLeaf = leaf;
      for (; index < items.length; index++) {
        yield items[index]!;
        if (items[index] === last) return;
      }
      leaf = leaf.next as ItemLeaf | null;
      index = 0;
    }
  }

  /** What was inserted goes to a new leaf with all behind it, so that appending fills its leaves. */
  #insertAcross(leaf: ItemLeaf, at: number, items: readonly Item[]): void {
    const behind = leaf.items.splice(at);
    let width = 0;
    for (const item of behind) width += item.width;
    if (width !== 0) this.#tree.add(leaf, 0, -width);
    const all = [...items, ...behind];
    if (at === 0) {
      const kept = all.splice(0, LEAF_ITEMS >> 1);
      leaf.items = kept;
      let added = 0;
      for (const item of kept) {
        item.leaf = leaf;
        added += item.width;
      }
      this.#tree.add(leaf, 0, added);
    }
    let last = leaf;
    for (const added of this.#leaves(all)) {
      this.#tree.insertAfter(last, added);
      last = added;
    }
  }

  #leaves(items: readonly Item[]): ItemLeaf[] {
    const leaves: ItemLeaf[] = [];
    for (let from = 0; from < items.length; from += LEAF_ITEMS) {
      leaves.push(new ItemLeaf(this, items.slice(from, from + LEAF_ITEMS)));
    }
    return leaves;
  }
}

/** The items around one, in its own sequence. */
export function nextItem(item: Item): Item | null {
  const leaf = item.leaf!;
  const at = leaf.items.lastIndexOf(item) + 1;
  if (at < leaf.items.length) return leaf.items[at]!;
  return (leaf.next as ItemLeaf | null)?.items[0] ?? null;
}

export function previousItem(item: Item): Item | null {
  const leaf = item.leaf!;
  const at = leaf.items.lastIndexOf(item);
  if (at > 0) return leaf.items[at - 1]!;
  return (leaf.previous as ItemLeaf | null)?.items.at(-1) ?? null;
}

export function sequenceOf(item: Item): Sequence {
  return item.leaf!.owner;
}
