import type {
  Batch,
  BatchOutcome,
  BlockRow,
  CallRow,
  Keyframe,
  Lease,
  NewCommit,
  StoredCommit,
} from "../../src/kernel/ports.ts";

/** What a store is, said as plainly as possible: lists and linear searches. */
export class StoreModel {
  journal: StoredCommit[] = [];
  rows: BlockRow[] = [];
  calls: CallRow[] = [];
  keyframes = new Map<string, Keyframe>();
  values = new Map<string, string>();
  leases = new Map<string, Lease & { held: boolean }>();

  commit({ commits, rows, calls, fence }: Batch): BatchOutcome | "ahead" {
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
    const positions = commits.map(({ expectedVersion, ...one }) => {
      const position = this.journal.length + 1;
      this.journal.push({ ...one, version: expectedVersion + 1, position });
      return position;
    });
    const changed = rows.map((one) => {
      const { version, position } = this.of(one.block).at(-1)!;
      return { ...one, version, position };
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
