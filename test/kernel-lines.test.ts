import { expect, test } from "vitest";
import { KumikoError, Random } from "../src/base/index.ts";
import { MemoryDisk } from "../src/store/memory/memory-disk.ts";
import { MemoryStore } from "../src/store/memory/memory-store.ts";
import { scaled, seed } from "./support/counts.ts";
import { type Answer, Workshop } from "./support/kernel-workshop.ts";

/** Two of them are one person in two places. */
const readers = [
  { actor: "ann", reader: "ann" },
  { actor: "ann", reader: "ann-2" },
  { actor: "ben", reader: "ben" },
  { actor: "claude", reader: "claude" },
];

interface Line {
  readonly text: string;
  readonly author: string;
  readonly by: string;
  readonly deletedBy: Set<string>;
}

interface ModelBlock {
  readonly id: string;
  /** Every line it ever had. */
  readonly lines: Line[];
  /** Those that show, in order. */
  now: string[];
  version: number;
  status: string;
}

interface ModelEdit {
  readonly actor: string;
  last: number;
  active: boolean;
  flipped?: { readonly by: string; readonly at: number };
}

/** What the tools must do, said with whole lines, flags and lists. */
class Model {
  readonly blocks = new Map<string, ModelBlock>();
  readonly edits = new Map<string, ModelEdit>();
  /** What each reader was shown last: their line numbers mean that. */
  readonly shown = new Map<string, Map<string, string[]>>();
  #moment = 0;
  #lines = 0;

  /** No two begin or end alike, so nothing of one is ever kept in another. */
  newLine(): string {
    const mark = String.fromCodePoint(0x4e00 + this.#lines++);
    return `${mark} words ${mark}`;
  }

  show(reader: string, { id, now }: ModelBlock): void {
    const known = this.shown.get(reader) ?? new Map<string, string[]>();
    this.shown.set(reader, known.set(id, now));
  }

  wrote(edit: string, actor: string): void {
    const known = this.edits.get(edit);
    if (known === undefined) this.edits.set(edit, { actor, last: ++this.#moment, active: true });
    else known.last = ++this.#moment;
  }

  flip(edit: string, by: string, active: boolean): void {
    const known = this.edits.get(edit)!;
    known.active = active;
    known.flipped = { by, at: ++this.#moment };
  }

  newest(actor: string): string | undefined {
    return highest(this.edits, (edit) => (edit.actor === actor && edit.active ? edit.last : 0));
  }

  newestUndone(actor: string): string | undefined {
    const rank = ({ active, flipped }: ModelEdit): number =>
      !active && flipped?.by === actor ? flipped.at : 0;
    const undone = highest(this.edits, rank);
    const written = highest(this.edits, (edit) => (edit.actor === actor ? edit.last : 0));
    if (undone === undefined) return undefined;
    const last = written === undefined ? 0 : this.edits.get(written)!.last;
    return this.edits.get(undone)!.flipped!.at > last ? undone : undefined;
  }

  visible({ lines }: ModelBlock): string[] {
    const isActive = (edit: string): boolean => this.edits.get(edit)!.active;
    return lines
      .filter(({ by, deletedBy }) => isActive(by) && ![...deletedBy].some(isActive))
      .map(({ text }) => text);
  }
}

function highest(
  edits: ReadonlyMap<string, ModelEdit>,
  rank: (edit: ModelEdit) => number,
): string | undefined {
  let found: string | undefined;
  let above = 0;
  for (const [name, edit] of edits) {
    if (rank(edit) <= above) continue;
    found = name;
    above = rank(edit);
  }
  return found;
}

class Run {
  readonly #disk = new MemoryDisk();
  readonly #model = new Model();
  readonly #random: Random;
  /** Undoing lines of which parts were replaced is not a matter of whole lines: a run does one or the other. */
  readonly #undoes: boolean;
  #shop: Workshop;
  #calls = 0;
  conflicts = 0;

  private constructor(random: Random, shop: (disk: MemoryDisk) => Workshop, disk: MemoryDisk) {
    this.#random = random;
    this.#disk = disk;
    this.#undoes = random.next() < 0.5;
    this.#shop = shop(disk);
  }

  static async begin(random: Random): Promise<Run> {
    const disk = new MemoryDisk();
    const shop = await Workshop.open(new MemoryStore({ disk }), { liveDocuments: 3 });
    return new Run(random, () => shop, disk);
  }

  async step(): Promise<void> {
    const who = this.#random.pick(readers);
    const blocks = [...this.#model.blocks.values()];
    const chance = this.#random.next();
    if (blocks.length === 0 || (chance < 0.05 && blocks.length < 4)) return this.#create(who);
    const block = this.#random.pick(blocks);
    if (chance < 0.15) return this.#read(who, block);
    if (chance < 0.6) return this.#edit(who, block);
    if (chance < 0.7) return this.#append(who, block);
    if (chance < 0.75) return this.#status(who, block);
    if (chance < 0.95) return this.#undoes ? this.#flip(who) : this.#replace(who, block);
    if (chance < 0.98) return this.#compare();
    return this.#restart();
  }

  async end(): Promise<void> {
    await this.#compare();
    await this.#shop[Symbol.asyncDispose]();
  }

  /** Makes a call, and sometimes makes it again: the answer must be the same and nothing may happen. */
  async #call(
    who: { actor: string; reader: string },
    tool: string,
    input: object,
  ): Promise<Answer> {
    const named = { ...input, reader: who.reader };
    if (this.#random.next() < 0.7) return this.#shop.call(who.actor, tool, named);
    const once = { ...named, call_id: `c${++this.#calls}` };
    const answer = await this.#shop.call(who.actor, tool, once);
    const { head } = this.#shop.kernel.feed;
    expect(await this.#shop.call(who.actor, tool, once)).toEqual(answer);
    expect(this.#shop.kernel.feed.head).toBe(head);
    return answer;
  }

  async #create(who: { actor: string; reader: string }): Promise<void> {
    const texts = Array.from({ length: this.#random.below(4) }, () => this.#model.newLine());
    const content = texts.length === 0 ? {} : { content: joined(texts) };
    const kind = { role: "user", kind: "text" };
    const made = await this.#call(who, "block_create", { ...kind, ...content });
    const edit = made["edit"] as string;
    const block: ModelBlock = {
      id: made["block_id"] as string,
      lines: texts.map((text) => ({ text, author: who.actor, by: edit, deletedBy: new Set() })),
      now: texts,
      version: 1,
      status: texts.length === 0 ? "pending" : "done",
    };
    expect(made["version"]).toBe(1);
    if (texts.length > 0) this.#model.wrote(edit, who.actor);
    this.#model.blocks.set(block.id, block);
    this.#model.show(who.reader, block);
  }

  async #read(who: { actor: string; reader: string }, block: ModelBlock): Promise<void> {
    const read = await this.#shop.call(who.actor, "block_read", {
      block_id: block.id,
      line_numbers: false,
      reader: who.reader,
    });
    expect(read).toMatchObject({
      content: block.now.map((line) => `${line}\n`).join(""),
      version: block.version,
      line_count: block.now.length,
      status: block.status,
    });
    this.#model.show(who.reader, block);
  }

  async #edit(who: { actor: string; reader: string }, block: ModelBlock): Promise<void> {
    const { id, now } = block;
    const base = this.#model.shown.get(who.reader)?.get(id);
    const insert = base === undefined || base.length === 0 || this.#random.next() < 0.5;
    const at = this.#random.below((base?.length ?? 0) + (insert ? 1 : 0));
    const end = insert ? at : at + 1 + this.#random.below(Math.min(2, base.length - at));
    const text = this.#model.newLine();
    const operation = insert
      ? { op: "insert", line: at, content: text }
      : { op: "delete", start_line: at, end_line: end };
    let answer: Answer;
    try {
      answer = await this.#call(who, "block_edit", { block_id: id, operations: [operation] });
    } catch (error) {
      if (!(error instanceof KumikoError)) throw error;
      if (base === undefined) return expect(error.code).toBe("base_required");
      expect(error.code).toBe("conflict");
      expect(this.#mayConflict(base, now, at, end)).not.toBe("never");
      this.conflicts += 1;
      // Whoever was told what stands there now means that from here on.
      this.#model.show(who.reader, block);
      return;
    }
    if (base === undefined) throw new Error("an edit without a base was taken");
    expect(this.#mayConflict(base, now, at, end)).not.toBe("always");
    expect(answer["since"] === "").toBe(joined(base) === joined(now));
    const edit = answer["edit"] as string;
    const after = (await this.#shop.text(id)).split("\n").slice(0, -1);
    if (insert) {
      expect(after.filter((line) => line !== text)).toEqual(now);
      const place = after.indexOf(text);
      for (const [index, line] of base.entries()) {
        const where = after.indexOf(line);
        if (where === -1 || Math.abs(index - at + 0.5) > 1) continue;
        expect(where < place).toBe(index < at);
      }
      block.lines.push({ text, author: who.actor, by: edit, deletedBy: new Set() });
    } else {
      const gone = new Set(base.slice(at, end));
      expect(after).toEqual(now.filter((line) => !gone.has(line)));
      for (const line of block.lines) if (gone.has(line.text)) line.deletedBy.add(edit);
    }
    this.#changed(block, after, edit, who.actor, answer["version"] as number);
    this.#model.show(who.reader, block);
  }

  async #replace(who: { actor: string; reader: string }, block: ModelBlock): Promise<void> {
    const { id, now } = block;
    const text = this.#model.newLine();
    const old = now.length === 0 || this.#random.next() < 0.1 ? "nowhere" : this.#random.pick(now);
    const request = { block_id: id, old, new: text };
    if (old === "nowhere") {
      const refused = await this.#shop.refusal(who.actor, "block_replace", request);
      return expect(refused.code).toBe("not_found");
    }
    const base = this.#model.shown.get(who.reader)?.get(id);
    const answer = await this.#call(who, "block_replace", request);
    const edit = answer["edit"] as string;
    const line = block.lines.find((each) => each.text === old)!;
    line.deletedBy.add(edit);
    block.lines.push({ text, author: who.actor, by: edit, deletedBy: new Set() });
    const after = now.map((each) => (each === old ? text : each));
    this.#changed(block, after, edit, who.actor, answer["version"] as number);
    if (base !== undefined) this.#model.show(who.reader, block);
  }

  async #append(who: { actor: string; reader: string }, block: ModelBlock): Promise<void> {
    const text = this.#model.newLine();
    const receipt = await this.#shop.call(who.actor, "block_append", {
      block_id: block.id,
      text: `${text}\n`,
      flush: true,
    });
    const { versions } = (await this.#shop.call(who.actor, "block_history", {
      block_id: block.id,
      limit: 1,
    })) as unknown as { versions: [{ edit: string; actor: string; version: number }] };
    const [{ edit, actor, version }] = versions;
    expect(actor).toBe(who.actor);
    expect(receipt["durable_version"]).toBe(version);
    block.lines.push({ text, author: who.actor, by: edit, deletedBy: new Set() });
    this.#changed(block, [...block.now, text], edit, who.actor, version);
  }

  async #status(who: { actor: string; reader: string }, block: ModelBlock): Promise<void> {
    const status = this.#random.pick(["running", "done", "error"]);
    const order = ["pending", "running", "done"];
    const ended = block.status === "done" || block.status === "error";
    const allowed =
      status === block.status ||
      (!ended && order.indexOf(status === "error" ? "done" : status) > order.indexOf(block.status));
    const request = { block_id: block.id, status };
    if (!allowed) {
      const refused = await this.#shop.refusal(who.actor, "block_status", request);
      return expect(refused.code).toBe("wrong_status");
    }
    const answer = await this.#call(who, "block_status", request);
    if (status !== block.status) block.version += 1;
    block.status = status;
    expect(answer).toMatchObject({ version: block.version, status });
    if (this.#model.shown.get(who.reader)?.has(block.id)) this.#model.show(who.reader, block);
  }

  async #flip(who: { actor: string; reader: string }): Promise<void> {
    const redo = this.#random.next() < 0.4;
    const model = this.#model;
    const expected = redo ? model.newestUndone(who.actor) : model.newest(who.actor);
    const tool = redo ? "block_redo" : "block_undo";
    if (expected === undefined) {
      const refused = await this.#shop.refusal(who.actor, tool, {});
      return expect(refused.code).toBe("nothing_to_undo");
    }
    const answer = await this.#call(who, tool, {});
    expect(answer).toMatchObject({ flipped: expected, actor: model.edits.get(expected)!.actor });
    model.flip(expected, who.actor, redo);
    for (const { block_id, version } of answer["blocks"] as {
      block_id: string;
      version: number;
    }[]) {
      const block = model.blocks.get(block_id)!;
      const knew = model.shown.get(who.reader)?.get(block_id) === block.now;
      expect(version).toBe(block.version + 1);
      const after = (await this.#shop.text(block_id)).split("\n").slice(0, -1);
      // Where a line comes back is for the text to say; that it does, and what stays put, is not.
      expect(after.toSorted()).toEqual(model.visible(block).toSorted());
      const stayed = new Set(after);
      expect(after.filter((line) => block.now.includes(line))).toEqual(
        block.now.filter((line) => stayed.has(line)),
      );
      block.version = version;
      block.now = after;
      if (knew) model.show(who.reader, block);
    }
  }

  /** A first write makes a block that waits run. */
  #changed(block: ModelBlock, now: string[], edit: string, actor: string, version: number): void {
    expect(version).toBe(block.version + 1);
    block.version = version;
    block.now = now;
    if (block.status === "pending") block.status = "running";
    this.#model.wrote(edit, actor);
  }

  async #compare(): Promise<void> {
    const blocks = [...this.#model.blocks.values()];
    const list = await this.#shop.call("eve", "block_list", { limit: 1000 });
    expect(list["blocks"]).toMatchObject(
      blocks.map(({ id, status, version }) => ({ block_id: id, status, version })),
    );
    for (const block of blocks) {
      expect(await this.#shop.text(block.id)).toBe(joined(block.now));
      if (!this.#undoes) continue;
      const { runs } = (await this.#shop.call("eve", "block_blame", {
        block_id: block.id,
      })) as unknown as { runs: { text: string; actor: string; edit: string }[] };
      expect(runs.map(({ text }) => text).join("")).toBe(joined(block.now));
      for (const { text, actor, edit } of runs) {
        for (const line of text.split("\n").slice(0, -1)) {
          const { author, by } = block.lines.find((each) => each.text === line)!;
          expect({ actor, edit }).toEqual({ actor: author, edit: by });
        }
      }
    }
  }

  /**
   * Whether an edit of lines at..end of `base` must be, may be or cannot be a conflict, now that the lines are
   * `now`. Empty: an insertion.
   */
  #mayConflict(
    base: readonly string[],
    now: readonly string[],
    at: number,
    end: number,
  ): "always" | "perhaps" | "never" {
    if (at < end) {
      const places = base.slice(at, end).map((line) => now.indexOf(line));
      const whole = places.every((place, index) => place !== -1 && place === places[0]! + index);
      return whole ? "never" : "always";
    }
    if (at === 0 || at === base.length) return "never";
    const standing = [base[at - 1]!, base[at]!].filter((line) => now.includes(line)).length;
    if (standing === 2) return "never";
    // A line that was replaced leaves its end where it stood.
    return standing === 1 || !this.#undoes ? "perhaps" : "always";
  }

  async #restart(): Promise<void> {
    await this.#shop[Symbol.asyncDispose]();
    this.#shop = await Workshop.open(new MemoryStore({ disk: this.#disk }), { liveDocuments: 3 });
    this.#model.shown.clear();
    for (const block of this.#model.blocks.values()) {
      if (block.status !== "running") continue;
      // Its owner went with the process.
      block.status = "error";
      block.version += 1;
    }
  }
}

function joined(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

test("random calls by several actors and readers do what a simple model does", async () => {
  let conflicts = 0;
  for (let number = 0; number < scaled(200); number++) {
    const run = await Run.begin(new Random(seed() + number));
    for (let step = 0; step < 120; step++) await run.step();
    await run.end();
    conflicts += run.conflicts;
  }
  expect(conflicts).toBeGreaterThan(scaled(200));
});
