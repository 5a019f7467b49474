import { appendFileSync, rmSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import { FakeTime } from "../../test/support/kernel-workshop.ts";
import { openFiles } from "../../test/support/open-files.ts";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { Folder } from "./contained.ts";
import { type LateWrite, LateWrites, type WrittenTo } from "./late-writes.ts";
import { MountedFile } from "./mounted-file.ts";
import { ReplacedFile } from "./replaced-file.ts";

const isLinux = process.platform === "linux";
/** In milliseconds of made-up time, and how often others have their turn in each. */
const STEP = 10;
const TURNS = 20;
const FORM = { encoding: "utf-8", bom: false, crlf: false } as const;

/** Files that are replaced in made-up time. */
class Desk implements AsyncDisposable {
  readonly #time = new FakeTime();
  readonly taken: string[] = [];
  readonly bases: (number | string)[] = [];
  readonly lost: string[] = [];
  last: LateWrite | undefined;
  /** Why nothing can be taken in now. */
  trouble: Error | undefined;
  readonly folder = temporaryFolder();
  readonly #root = Folder.open(this.folder.path);
  readonly #files = new Map<string, MountedFile>();
  readonly late = new LateWrites({
    clock: this.#time.clock,
    timers: this.#time.timers,
    largest: 1_000,
    take: (written) => this.#take(written),
    onLost: ({ path }, error) => this.lost.push(`${path}: ${(error as Error).message}`),
  });

  /** A save puts another file in its place; gives whether it is open still. */
  replace(name: string, holds: string, uncompared?: string): () => boolean {
    // Another than the one before.
    rmSync(`${this.folder.path}/${name}`, { force: true });
    const path = this.folder.write(name, holds);
    using spot = this.#root.spot(name);
    const replaced = ReplacedFile.open(spot);
    const file = this.file(name);
    const writtenTo = { base: { version: 7 }, form: FORM, earlier: [] };
    this.late.keep(
      replaced,
      { file, writtenTo },
      uncompared === undefined ? undefined : Buffer.from(uncompared),
    );
    // Its number may be another file's by then.
    return () => openFiles().includes(path);
  }

  file(name: string): MountedFile {
    const record = { path: name, synced: undefined };
    const file = this.#files.get(name) ?? new MountedFile(name, record, 1);
    this.#files.set(name, file);
    return file;
  }

  write(name: string, text: string): void {
    appendFileSync(`${this.folder.path}/${name}`, text);
  }

  /** Whatever is under way gets as far as it can meanwhile. */
  async passing(milliseconds: number): Promise<void> {
    for (let at = 0; at < milliseconds; at += STEP) {
      for (let each = 0; each < TURNS; each++) await turn();
      this.#time.pass(STEP);
    }
    for (let each = 0; each < TURNS; each++) await turn();
  }

  async #take(written: LateWrite): Promise<WrittenTo> {
    const { bytes, writtenTo } = written;
    this.last = written;
    if (this.trouble !== undefined) throw this.trouble;
    const text = Buffer.from(bytes).toString();
    const { base } = writtenTo;
    this.taken.push(text);
    this.bases.push("text" in base ? base.text : base.version);
    return { base: { text }, form: FORM, earlier: [] };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.late[Symbol.asyncDispose]();
    this.#root[Symbol.dispose]();
    rmSync(this.folder.path, { recursive: true, force: true });
  }
}

it.runIf(isLinux)(
  "what is not what it should have been is taken in, whatever its time says",
  async () => {
    await using desk = new Desk();
    const isOpen = desk.replace("a.txt", "theirs", "ours  ");
    await desk.passing(500);
    expect([desk.taken, desk.bases, isOpen()]).toEqual([["theirs"], [7], true]);
    await desk.passing(2_000);
    expect(desk.taken).toHaveLength(1);
    await expect.poll(isOpen).toBe(false);
  },
);

it.runIf(isLinux)(
  "what is written is taken in when it is at rest, each on top of the last",
  async () => {
    await using desk = new Desk();
    const isOpen = desk.replace("a.txt", "a", "a");
    await desk.passing(850);
    desk.write("a.txt", "b");
    await desk.passing(90);
    expect(desk.taken).toEqual([]);
    await desk.passing(300);
    desk.write("a.txt", "c");
    await desk.passing(300);
    expect([desk.taken, desk.bases]).toEqual([
      ["ab", "abc"],
      [7, "ab"],
    ]);
    await desk.passing(1_200);
    expect(desk.taken).toHaveLength(2);
    await expect.poll(isOpen).toBe(false);
  },
);

it.runIf(isLinux)(
  "what cannot be taken in now is tried again, and told when it is given up",
  async () => {
    await using desk = new Desk();
    desk.trouble = new Error("the disk is full");
    desk.replace("a.txt", "a", "b");
    const isOpen = desk.replace("b.txt", "a", "b");
    await desk.passing(500);
    desk.trouble = undefined;
    await desk.passing(500);
    expect([desk.taken, desk.lost]).toEqual([["a", "a"], []]);
    desk.trouble = new Error("it is no text");
    desk.write("b.txt", "\0");
    await desk.passing(4_000);
    expect(desk.lost).toEqual(["b.txt: it is no text"]);
    await expect.poll(isOpen).toBe(false);
  },
);

it.runIf(isLinux)(
  "is done at the end with what was just replaced, and keeps nothing open",
  async () => {
    const desk = new Desk();
    const open = [desk.replace("a.txt", "theirs", "ours  "), desk.replace("b.txt", "b", "b")];
    const closing = desk[Symbol.asyncDispose]();
    await desk.passing(1_000);
    await closing;
    expect(desk.taken).toEqual(["theirs"]);
    await expect.poll(() => open.some((isOpen) => isOpen())).toBe(false);
  },
);

it.runIf(isLinux)(
  "many of one file in a row are given back at once, unless another program writes there as well",
  async () => {
    await using desk = new Desk();
    // The folder itself is open, too.
    const kept = () => openFiles().filter((path) => path.startsWith(desk.folder.path)).length - 1;
    for (let round = 0; round < 10; round++) desk.replace("a.txt", "a", "a");
    await expect.poll(kept).toBe(1);
    // Of several that are saved at once each is kept.
    for (let each = 0; each < 10; each++) desk.replace(`${each}.txt`, "a", "a");
    await expect.poll(kept).toBe(11);
    // For longer than one is kept, so that there are none for a while.
    for (let round = 0; round < 30; round++) {
      await desk.passing(50);
      desk.replace("a.txt", "a", "a");
    }
    await expect.poll(kept).toBe(0);
    desk.late.noticed();
    for (let round = 0; round < 100; round++) desk.replace("a.txt", "a", "a");
    await expect.poll(kept).toBe(64);
    await desk.passing(1_500);
    await expect.poll(kept).toBe(0);
  },
);

it.runIf(isLinux)(
  "who goes on writing is taken as it is, and keeps nobody from closing",
  async () => {
    const desk = new Desk();
    const isOpen = desk.replace("a.txt", "a", "a");
    const over = new AbortController();
    const goesOn = async (milliseconds: number): Promise<void> => {
      for (let at = 0; at < milliseconds && !over.signal.aborted; at += 50) {
        desk.write("a.txt", "b");
        await desk.passing(50);
      }
    };
    await goesOn(2_000);
    expect(desk.taken).toEqual([]);
    await goesOn(1_500);
    expect(desk.taken).toEqual([expect.stringMatching(/^ab+$/)]);
    const closing = desk[Symbol.asyncDispose]().finally(() => over.abort());
    await goesOn(5_000);
    expect(over.signal.aborted).toBe(true);
    await closing;
    expect(desk.taken).toHaveLength(2);
    await expect.poll(isOpen).toBe(false);
    // What is replaced after that is not kept.
    using folder = temporaryFolder();
    folder.write("b.txt", "b");
    using root = Folder.open(folder.path);
    using spot = root.spot("b.txt");
    const writtenTo = { base: { version: 7 }, form: FORM, earlier: [] };
    desk.late.keep(ReplacedFile.open(spot), { file: desk.file("b.txt"), writtenTo });
    await expect.poll(() => openFiles().some((path) => path.endsWith("/b.txt"))).toBe(false);
  },
);

it.runIf(isLinux)(
  "what must not be known any more is not kept, and what is too large not read",
  async () => {
    await using desk = new Desk();
    desk.replace("c.txt", "secret", "other!");
    await desk.passing(300);
    expect(desk.last?.isWanted()).toBe(true);
    desk.late.forget(desk.file("c.txt"));
    expect(desk.last?.isWanted()).toBe(false);
    desk.taken.length = 0;
    const before = desk.replace("a.txt", "secret", "other!");
    desk.late.forget(desk.file("a.txt"));
    const next = desk.replace("a.txt", "secret", "other!");
    await expect.poll(() => before() || next()).toBe(false);
    await desk.passing(200);
    const after = desk.replace("a.txt", "public", "public");
    desk.replace("b.txt", "b", "b");
    desk.write("b.txt", "b".repeat(1_000));
    await desk.passing(500);
    expect([desk.taken, desk.lost, after()]).toEqual([
      [],
      ["b.txt: it is larger than the limit"],
      true,
    ]);
  },
);
