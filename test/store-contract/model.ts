import type {
  Batch,
  BatchOutcome,
  BlockRow,
  CallRow,
  EditRow,
  Keyframe,
  Lease,
  NewCommit,
  Rewrite,
  StoredCommit,
} from "../../src/kernel/ports.ts";

/** What a store is, said as plainly as possible: lists and linear searches. */
export class StoreModel {
  journal: StoredCommit[] = [];
  /** Commits that count for undo, with their positions. */
  undoable: (NewCommit & { position: number })[] = [];
  rows: BlockRow[] = [];
  calls: CallRow[] = [];
  keyframes = new Map<string, Keyframe>();
  values = new Map<string, string>();
  leases = new Map<string, Lease & { held: boolean }>();

  commit({ commits, rows, calls, fence }: Batch): BatchOutcome | "ahead" | "unknown_edit" {
    for (const { actor, call } of calls) {
      const answered = this.calls.find((one) => one.actor === actor && one.call === call);
      if (answered !== undefined) return { kind: "answered", call: answered };
    }
    const lease = fence && this.leases.get(fence.lease);
    if (fence !== undefined && !(lease?.held === true && lease.token === fence.token)) {
      return { kind: "fenced" };
    }
    const firsts = new Map<string, NewCommit>();
    for (const one of commits) if (!firsts.has(one.block)) firsts.set(one.block, one);
    if ([...firsts.values()].some((one) => one.expectedVersion > this.of(one.block).length)) {
      return "ahead";
    }
    const missing = this.journal.filter(
      (one) => one.version > (firsts.get(one.block)?.expectedVersion ?? Infinity),
    );
    if (missing.length > 0) return { kind: "moved", missing };
    const rest = this.rows.filter((one) => !rows.some(({ block }) => block === one.block));
    for (const { context, parent, order } of rows) {
      const there = rest.find(
        (one) => one.context === context && one.parent === parent && one.order === order,
      );
      if (there !== undefined) return { kind: "occupied", row: there };
    }
    const known = this.undoable.length;
    for (const [index, one] of commits.entries()) {
      const { undo } = one;
      if (undo?.kind === "flip" && this.edit(undo.edit) === undefined) {
        this.undoable.length = known;
        return "unknown_edit";
      }
      const position = this.journal.length + 1 + index;
      if (undo !== undefined) this.undoable.push({ ...one, position });
    }
    const positions = commits.map((made) => {
      const { expectedVersion, undo: _, ...one } = made;
      const position = this.journal.length + 1;
      this.journal.push({ ...one, version: expectedVersion + 1, position });
      return position;
    });
    const changed = rows.map((one) => {
      const { version, position } = this.of(one.block).at(-1)!;
      const created = this.rows.find(({ block }) => block === one.block)?.created ?? position;
      return { ...one, version, position, created };
    });
    this.rows = [...rest, ...changed].toSorted((left, right) =>
      left.block < right.block ? -1 : 1,
    );
    this.calls.push(...calls);
    return { kind: "committed", positions };
  }

  of(block: string): StoredCommit[] {
    return this.journal.filter((one) => one.block === block);
  }

  edit(name: string): EditRow | undefined {
    const texts = this.undoable.filter((one) => one.undo!.kind === "text" && one.edit === name);
    if (texts.length === 0) return undefined;
    const flips = this.undoable.flatMap(({ undo, actor, position }) =>
      undo?.kind === "flip" && undo.edit === name ? [{ active: undo.active, actor, position }] : [],
    );
    const last = flips.at(-1);
    return {
      edit: name,
      actor: texts[0]!.actor,
      blocks: [...new Set(texts.map((one) => one.block))].toSorted(),
      first: texts[0]!.position,
      last: texts.at(-1)!.position,
      active: last?.active ?? true,
      ...(last && { flipped: { actor: last.actor, position: last.position } }),
    };
  }

  newestEdit(actor: string, before?: EditRow): EditRow | undefined {
    return this.#edits()
      .filter((one) => one.actor === actor && one.active && one.last < (before?.last ?? Infinity))
      .toSorted((left, right) => right.last - left.last)[0];
  }

  newestUndone(actor: string): EditRow | undefined {
    const undone = this.#edits()
      .filter((one) => one.flipped?.actor === actor && !one.active)
      .toSorted((left, right) => right.flipped!.position - left.flipped!.position)[0];
    const since = this.undoable.some(
      (one) =>
        one.undo!.kind === "text" &&
        one.actor === actor &&
        one.position > (undone?.flipped!.position ?? 0),
    );
    return since ? undefined : undone;
  }

  #edits(): EditRow[] {
    const names = this.undoable.flatMap((one) => (one.undo!.kind === "text" ? [one.edit] : []));
    return [...new Set(names)].map((name) => this.edit(name)!);
  }

  rewrite({ block, commits, row, note }: Rewrite): void {
    this.journal = this.journal.map((one) => {
      const found = commits.find(({ version }) => one.block === block && version === one.version);
      return found === undefined ? one : { ...one, body: found.body, message: found.message };
    });
    this.rows = this.rows.map((one) => (one.block === block && row ? { ...one, ...row } : one));
    this.keyframes.delete(block);
    this.values.set(note.key, note.value);
  }

  forgetCalls(which: { before: number } | { containing: string }): number {
    const kept = this.calls.filter(({ time, answer }) =>
      "before" in which ? time >= which.before : !answer.includes(which.containing),
    );
    const forgotten = this.calls.length - kept.length;
    this.calls = kept;
    return forgotten;
  }

  putKeyframe(block: string, keyframe: Keyframe): void {
    if ((this.keyframes.get(block)?.version ?? -1) < keyframe.version) {
      this.keyframes.set(block, keyframe);
    }
  }

  acquire(name: string, holder: string, now: number, milliseconds: number) {
    const last = this.leases.get(name);
    if (last?.held === true && last.expires > now) return { granted: false, lease: bare(last) };
    const lease = { name, holder, token: (last?.token ?? 0) + 1, expires: now + milliseconds };
    this.leases.set(name, { ...lease, held: true });
    return { granted: true, lease };
  }

  release({ name, token }: Lease): void {
    const last = this.leases.get(name);
    if (last?.token === token) last.held = false;
  }
}

function bare({ name, holder, token, expires }: Lease): Lease {
  return { name, holder, token, expires };
}
