import { describe, expect, test } from "vitest";
import { type ConcurrentTrace, loadTraces, syntheticConcurrentTrace } from "../bench/traces.ts";
import {
  BlockDocument,
  type RangeChange,
  type Splice,
  translateRanges,
  translateSplice,
} from "../src/blocks/index.ts";
import { scaled } from "./support/counts.ts";
import { stamp } from "./support/documents.ts";
import { refusal } from "./support/refusal.ts";

/**
 * Two people who wrote one text at the same time: $KUMIKO_TRACES/friendsforever.json.gz if there is
 * one, else a synthetic trace of the same shape.
 */
function concurrentTrace(): ConcurrentTrace {
  const folder = process.env["KUMIKO_TRACES"];
  const given =
    folder === undefined || folder === ""
      ? undefined
      : loadTraces(folder).find((trace) => trace.name === "friendsforever");
  return given?.kind === "concurrent" ? given : syntheticConcurrentTrace(scaled(26_000));
}

/** What a writer had seen: how many transactions of each agent. */
type Seen = readonly number[];

/** A stretch of transactions that one agent made one after the other, with nothing coming in between. */
interface Stretch {
  readonly agent: number;
  readonly first: number;
  readonly last: number;
  /** What its agent had seen before it and behind it. */
  readonly before: Seen;
  readonly behind: Seen;
}

function stretchesOf({ transactions, agents }: ConcurrentTrace): Stretch[] {
  const seen: Seen[] = [];
  const stretches: Stretch[] = [];
  const children = new Map<number, number>();
  for (const parent of transactions.flatMap(({ parents }) => parents)) {
    children.set(parent, (children.get(parent) ?? 0) + 1);
  }
  for (const [i, { parents, agent }] of transactions.entries()) {
    const before = Array.from({ length: agents }, (_, each) =>
      Math.max(0, ...parents.map((parent) => seen[parent]![each]!)),
    );
    const behind = before.with(agent, before[agent]! + 1);
    seen.push(behind);
    const last = stretches.at(-1);
    const goesOn =
      last?.agent === agent &&
      parents.length === 1 &&
      parents[0] === i - 1 &&
      children.get(i - 1) === 1;
    if (goesOn) stretches[stretches.length - 1] = { ...last, last: i, behind };
    else stretches.push({ agent, first: i, last: i, before, behind });
  }
  return stretches;
}

/** One unit of the text: which transaction of which agent inserted it, and which deleted it. */
interface WrittenUnit {
  readonly text: string;
  readonly agent: number;
  readonly number: number;
  readonly deletedBy: { readonly agent: number; readonly number: number }[];
  /** Where it stood before the stretch that is being written; -1 if it did not. */
  stood: number;
}

/**
 * The text as everybody wrote it, every unit kept for ever: from it follows what a writer saw, and what
 * a stretch changed in it. Nobody inserts where another does, so behind the unit before is right.
 */
class WrittenText {
  readonly #units: WrittenUnit[] = [];

  get text(): string {
    return this.#units
      .filter(stands)
      .map(({ text }) => text)
      .join("");
  }

  /** Makes a stretch. Gives it as changes of what its writer saw, and as splices of what there is. */
  write(
    { agent, before, behind, first, last }: Stretch,
    transactions: ConcurrentTrace["transactions"],
  ): { changes: RangeChange[]; splices: Splice[]; overlaps: boolean } {
    let standing = 0;
    for (const unit of this.#units) unit.stood = stands(unit) ? standing++ : -1;
    const view = this.#units.filter((unit) => wasSeen(unit, before));
    // Typing goes on where it went on before.
    let place = 0;
    for (const [i, { patches }] of transactions.slice(first, last + 1).entries()) {
      const by = { agent, number: before[agent]! + 1 + i };
      for (const [at, remove, insert] of patches) {
        for (const unit of view.slice(at, at + remove)) unit.deletedBy.push(by);
        const added = insert.split("").map((text) => ({ text, ...by, deletedBy: [], stood: -1 }));
        if (at === 0) place = 0;
        else if (this.#units[place - 1] !== view[at - 1]) {
          place = this.#units.indexOf(view[at - 1]!) + 1;
        }
        this.#units.splice(place, 0, ...added);
        place += added.length;
        view.splice(at, remove, ...added);
      }
    }
    const changes = this.#changes(
      (unit) => wasSeen(unit, before),
      (unit) => wasSeen(unit, behind),
    );
    const made = this.#changes(({ stood }) => stood !== -1, stands);
    // A change of units that another has deleted, or has written between, is not for a base version.
    const overlaps = changes.some(({ removed }) =>
      removed.some(({ stood }, i) => stood === -1 || stood !== removed[0]!.stood + i),
    );
    return { changes, splices: sequential(made), overlaps };
  }

  /** From the units that were to those that are, as changes of ranges of what was. */
  #changes(
    was: (unit: WrittenUnit) => boolean,
    is: (unit: WrittenUnit) => boolean,
  ): (RangeChange & { readonly removed: readonly WrittenUnit[] })[] {
    const changes: (RangeChange & { readonly removed: readonly WrittenUnit[] })[] = [];
    let start = 0;
    let insert = "";
    let removed: WrittenUnit[] = [];
    const flush = (): void => {
      const end = start + removed.length;
      if (end > start || insert !== "") changes.push({ start, end, insert, removed });
      [start, insert, removed] = [end, "", []];
    };
    for (const unit of this.#units) {
      const [before, now] = [was(unit), is(unit)];
      if (before && !now) removed.push(unit);
      else if (now && !before) insert += unit.text;
      else if (now) {
        flush();
        start++;
      }
    }
    flush();
    return changes;
  }
}

function stands({ deletedBy }: WrittenUnit): boolean {
  return deletedBy.length === 0;
}

/** Whether a writer saw it who had seen so much. */
function wasSeen({ agent, number, deletedBy }: WrittenUnit, seen: Seen): boolean {
  return number <= seen[agent]! && !deletedBy.some((by) => by.number <= seen[by.agent]!);
}

function sequential(changes: readonly RangeChange[]): Splice[] {
  let shift = 0;
  return changes.map(({ start, end, insert }) => {
    const splice = { at: start + shift, remove: end - start, insert };
    shift += insert.length - (end - start);
    return splice;
  });
}

describe("a concurrent trace", () => {
  const trace = concurrentTrace();
  const stretches = stretchesOf(trace);

  test(`MERGE-1: ${trace.name} replays through replicas that merge`, () => {
    const replicas = Array.from({ length: trace.agents }, (_, agent) => {
      const document = BlockDocument.create({ peer: String(agent + 2) });
      if (trace.startContent !== "") {
        const splices = [{ at: 0, remove: 0, insert: trace.startContent }];
        document.commit(splices, stamp("start", "start"));
      }
      document.birth(stamp("start", "birth"));
      return {
        document,
        has: Array.from({ length: trace.agents }, () => 0),
        sent: document.versionVector(),
      };
    });
    // What each agent sent behind its stretches, oldest first.
    const sent = replicas.map((): { upTo: number; update: Uint8Array }[] => []);
    const received = replicas.map(() => replicas.map(() => 0));
    let imports = 0;
    for (const { agent, first, last, before, behind } of stretches) {
      const { document, has } = replicas[agent]!;
      for (const other of replicas.keys()) {
        if (other === agent) continue;
        // Exactly what its writer had seen, and nothing that was written since.
        while (has[other]! < before[other]!) {
          const { update, upTo } = sent[other]![received[agent]![other]!++]!;
          document.import(update, stamp(`agent ${other}`, `import ${imports++}`));
          has[other] = upTo;
        }
      }
      expect(has).toEqual(before);
      for (const { patches } of trace.transactions.slice(first, last + 1)) {
        for (const [offset, deleteCount, insert] of patches) {
          const request = { offset, deleteCount, insert, unit: trace.unit, base: document.version };
          document.commit(translateSplice(document, request), stamp(`agent ${agent}`, `e${first}`));
        }
      }
      has[agent] = behind[agent]!;
      const replica = replicas[agent]!;
      sent[agent]!.push({ upTo: behind[agent]!, update: document.exportSince(replica.sent) });
      replica.sent = document.versionVector();
    }
    for (const [i, { document }] of replicas.entries()) {
      for (const other of replicas.keys()) {
        if (other === i) continue;
        for (const { update } of sent[other]!.slice(received[i]![other])) {
          expect(document.import(update, stamp("end", `end ${imports++}`)).pending).toBeUndefined();
        }
      }
      expect(document.read()).toBe(trace.endContent);
      const units = document.blame().reduce((sum, { length }) => sum + length, 0);
      expect(units).toBe(trace.endContent.length);
      using again = BlockDocument.load({ record: document.save().record }, { peer: "9" });
      expect(again.exportSince()).toEqual(document.exportSince());
      document[Symbol.dispose]();
    }
    expect(imports).toBeGreaterThan(0);
  });

  test(`BASE-1, BASE-9: the stretches of ${trace.name} are edits against the version their writer saw`, () => {
    expect(trace.unit).toBe("utf16");
    expect(trace.startContent).toBe("");
    using document = BlockDocument.create({ peer: "2" });
    const written = new WrittenText();
    /** The versions whose text somebody saw who had seen just so much. */
    const versions = new Map<string, number>([["0,0", 0]]);
    let done: Seen = Array.from({ length: trace.agents }, () => 0);
    const counts = { current: 0, past: 0, overlapping: 0, unseen: 0 };
    for (const stretch of stretches) {
      const { agent, first, before, behind } = stretch;
      const base = versions.get(before.join(","));
      const { changes, splices, overlaps } = written.write(stretch, trace.transactions);
      const by = stamp(`agent ${agent}`, `e${first}`);
      if (base === undefined) {
        // Its writer saw a mixture that never was a version here.
        counts.unseen++;
        document.commit(splices, by);
      } else if (overlaps) {
        counts.overlapping++;
        expect(refusal(() => translateRanges(document, changes, base)).code).toBe("conflict");
        document.commit(splices, by);
      } else {
        counts[base === document.version ? "current" : "past"]++;
        document.commit(translateRanges(document, changes, base), by);
      }
      done = done.with(agent, behind[agent]!);
      versions.set(done.join(","), document.version);
    }
    expect(document.read()).toBe(written.text);
    expect(document.read()).toBe(trace.endContent);
    expect(counts.past).toBeGreaterThan(10);
  });
});
