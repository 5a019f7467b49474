/**
 * A counted B-tree over leaves that somebody else defines: finds the leaf that holds a position in
 * any of several measures, in O(log n), while leaves grow, shrink, split and vanish.
 *
 * Invariants
 * - The sums of a branch are the sums of its children, measure by measure.
 * - The stamp of a branch is at least the stamp of each child, so a walk may skip whatever has not
 *   been touched since a given stamp.
 * - There is always at least one leaf, and no branch is empty.
 * - Leaves are linked in order.
 */
export class SumLeaf {
  parent: SumBranch | null = null;
  previous: SumLeaf | null = null;
  next: SumLeaf | null = null;
  stamp = 0;
  sums: number[];

  constructor(sums: number[]) {
    this.sums = sums;
  }
}

class SumBranch {
  parent: SumBranch | null = null;
  stamp = 0;
  sums: number[];
  children: (SumBranch | SumLeaf)[];

  constructor(children: (SumBranch | SumLeaf)[], measures: number) {
    this.children = children;
    this.sums = Array.from({ length: measures }, () => 0);
    for (const child of children) {
      child.parent = this;
      for (let m = 0; m < measures; m++) this.sums[m]! += child.sums[m]!;
      if (child.stamp > this.stamp) this.stamp = child.stamp;
    }
  }
}

export class SumTree<Leaf extends SumLeaf> {
  /** Sums of everything before the leaf that `find` answered last. */
  readonly before: number[];
  #root: SumBranch;
  #first: Leaf;
  readonly #measures: number;
  readonly #fanout: number;

  constructor(leaves: readonly Leaf[], measures: number, fanout = 24) {
    if (leaves.length === 0) throw new RangeError("a SumTree needs at least one leaf");
    this.#measures = measures;
    this.#fanout = fanout;
    this.before = Array.from({ length: measures }, () => 0);
    this.#first = leaves[0]!;
    for (let i = 1; i < leaves.length; i++) link(leaves[i - 1]!, leaves[i]!);
    let level: (SumBranch | SumLeaf)[] = [...leaves];
    const width = Math.max(2, Math.ceil(fanout / 2));
    do {
      const above: SumBranch[] = [];
      for (let i = 0; i < level.length; i += width) {
        above.push(new SumBranch(level.slice(i, i + width), measures));
      }
      level = above;
    } while (level.length > 1);
    this.#root = level[0] as SumBranch;
  }

  get first(): Leaf {
    return this.#first;
  }

  total(measure: number): number {
    return this.#root.sums[measure]!;
  }

  /**
   * The leaf in which `position` of `measure` lies, with `before` set. At a boundary between leaves
   * the left one is taken when `leftward`, else the right one.
   */
  find(measure: number, position: number, leftward: boolean): Leaf {
    const before = this.before;
    const measures = this.#measures;
    for (let m = 0; m < measures; m++) before[m] = 0;
    let node: SumBranch | SumLeaf = this.#root;
    while (node instanceof SumBranch) {
      const children: (SumBranch | SumLeaf)[] = node.children;
      const last = children.length - 1;
      let i = 0;
      for (; i < last; i++) {
        const sums: number[] = children[i]!.sums;
        const end = before[measure]! + sums[measure]!;
        if (leftward ? position <= end : position < end) break;
        for (let m = 0; m < measures; m++) before[m]! += sums[m]!;
      }
      node = children[i]!;
    }
    return node as Leaf;
  }

  /** The sum of one measure over everything before a leaf: where it starts. */
  startOf(leaf: Leaf, measure: number): number {
    let start = 0;
    let child: SumBranch | SumLeaf = leaf;
    for (let node = leaf.parent; node !== null; node = node.parent) {
      for (const sibling of node.children) {
        if (sibling === child) break;
        start += sibling.sums[measure]!;
      }
      child = node;
    }
    return start;
  }

  /** Adds to one measure of a leaf and of all above it. */
  add(leaf: Leaf, measure: number, difference: number): void {
    leaf.sums[measure]! += difference;
    for (let node = leaf.parent; node !== null; node = node.parent) {
      node.sums[measure]! += difference;
    }
  }

  /** Stamps only grow; callers give the version they are writing. */
  touch(leaf: Leaf, stamp: number): void {
    leaf.stamp = stamp;
    for (let node = leaf.parent; node !== null && node.stamp !== stamp; node = node.parent) {
      node.stamp = stamp;
    }
  }

  insertAfter(leaf: Leaf, added: Leaf): void {
    const next = leaf.next;
    link(leaf, added);
    if (next !== null) link(added, next);
    for (let node = leaf.parent; node !== null; node = node.parent) {
      for (let m = 0; m < this.#measures; m++) node.sums[m]! += added.sums[m]!;
      if (added.stamp > node.stamp) node.stamp = added.stamp;
    }
    this.#attach(leaf, added);
  }

  /** Removes a leaf; the last one stays and must be emptied by its owner instead. */
  remove(leaf: Leaf): void {
    if (leaf.previous === null && leaf.next === null) {
      throw new RangeError("the last leaf of a SumTree cannot be removed");
    }
    if (leaf.previous === null) this.#first = leaf.next as Leaf;
    else leaf.previous.next = leaf.next;
    if (leaf.next !== null) leaf.next.previous = leaf.previous;
    for (let node = leaf.parent; node !== null; node = node.parent) {
      for (let m = 0; m < this.#measures; m++) node.sums[m]! -= leaf.sums[m]!;
    }
    let child: SumBranch | SumLeaf = leaf;
    let parent = leaf.parent;
    while (parent !== null) {
      parent.children.splice(parent.children.indexOf(child), 1);
      if (parent.children.length > 0) break;
      child = parent;
      parent = parent.parent;
    }
    while (this.#root.children.length === 1 && this.#root.children[0] instanceof SumBranch) {
      this.#root = this.#root.children[0];
      this.#root.parent = null;
    }
    leaf.parent = leaf.previous = leaf.next = null;
  }

  /** Calls `visit` for each leaf stamped later than `stamp`, `skip` for each stretch that was not. */
  walkTouched(
    stamp: number,
    visit: (leaf: Leaf) => void,
    skip: (sums: readonly number[]) => void,
  ): void {
    const walk = (node: SumBranch | SumLeaf): void => {
      if (node.stamp <= stamp) skip(node.sums);
      else if (node instanceof SumBranch) for (const child of node.children) walk(child);
      else visit(node as Leaf);
    };
    walk(this.#root);
  }

  /** Everything above already counts what `added` holds. */
  #attach(left: SumBranch | SumLeaf, added: SumBranch | SumLeaf): void {
    const parent = left.parent;
    if (parent === null) {
      this.#root = new SumBranch([left, added], this.#measures);
      return;
    }
    added.parent = parent;
    parent.children.splice(parent.children.indexOf(left) + 1, 0, added);
    if (parent.children.length <= this.#fanout) return;
    const sibling = new SumBranch(
      parent.children.splice(parent.children.length >> 1),
      this.#measures,
    );
    for (let m = 0; m < this.#measures; m++) parent.sums[m]! -= sibling.sums[m]!;
    this.#attach(parent, sibling);
  }
}

function link(left: SumLeaf, right: SumLeaf): void {
  left.next = right;
  right.previous = left;
}
