import { setImmediate } from "node:timers/promises";
import { KumikoError, type Timers } from "../base/index.ts";
import type { FileFinding, FileIndex, IdentifiedFile, TextQuery } from "../kernel/index.ts";
import { identityText } from "./file-stat.ts";
import type { Stamp } from "./look.ts";

/** So many files are told of, or read, together; and so many units. Searches have their turn in between. */
const TOGETHER = 100;
const UNITS_TOGETHER = 256 * 1024;
/** Milliseconds that a search waits for the first comparison: without it, it knows of nothing. */
const PATIENCE = 1_000;

export type Listed = Iterable<readonly [path: string, stamp: Stamp]>;

export interface FolderIndexOptions {
  /** The folder's real path. */
  readonly root: string;
  readonly index: FileIndex;
  readonly timers: Timers;
  /** Larger files are no text. */
  readonly largest: number;
  /** Never in the index: it lies on disk. */
  isSecret(path: string): boolean;
  /** Whoever searches asks the block in its place. What the index knows of the file may be old. */
  hasBlock(path: string): boolean;
  /** Searches go on without the index; it is tried again. */
  onTrouble(error: KumikoError): void;
}

/** Which files a search has to look at. */
export interface Candidates {
  /** As far as the index knows them; also files that have a block now, of which it knows what they held before. */
  readonly known: readonly string[];
  /** Those that it does not know as they are. */
  readonly unknown: readonly string[];
  /** Everything in the folder; undefined when nobody has looked yet. */
  readonly listed: Listed | undefined;
}

/**
 * Keeps the index of one folder's files, behind everybody's back: what came or changed is read on a thread of its own.
 * The index is believed only as far as it was compared with the folder.
 */
export class FolderIndex implements AsyncDisposable {
  readonly #options: FolderIndexOptions;
  /** What is in the folder now; undefined until somebody watches it. */
  #list: (() => Listed) | undefined;
  /** How often everything had to be compared, and for which of these that was done. */
  #asked = 0;
  #compared = 0;
  readonly #first = Promise.withResolvers<void>();
  /** Not in the index as they are; the number tells one change of a file from the next. */
  readonly #waiting = new Map<string, number>();
  #changes = 0;
  /** Not readable when they were last tried: they wait for their next change. */
  readonly #unreadable = new Set<string>();
  /** Passed over because they had a block: that may go on with its file and leave another one in its place. */
  readonly #blocks = new Set<string>();
  readonly #gone = new Set<string>();
  #working: Promise<void> | undefined;
  #trouble = "";
  #closed = false;

  constructor(options: FolderIndexOptions) {
    this.#options = options;
  }

  /** The list is always that of now, and every change of it is told. */
  start(list: () => Listed): void {
    this.#list = list;
    this.again();
  }

  /** Compares everything: rules changed, or the index lost what it knew. */
  again(): void {
    this.#asked += 1;
    this.#work();
  }

  changed(came: readonly string[], gone: readonly string[]): void {
    for (const path of gone) {
      this.#waiting.delete(path);
      this.#unreadable.delete(path);
      this.#blocks.delete(path);
      this.#gone.add(path);
    }
    for (const path of came) {
      this.#gone.delete(path);
      this.#unreadable.delete(path);
      this.#waiting.set(path, (this.#changes += 1));
    }
    this.#work();
  }

  /** Resolves when everything that is there now is in the index, or it is known that it cannot be. */
  async settled(): Promise<void> {
    while (this.#working !== undefined) await this.#working;
  }

  /** Whether the folder has more files than that, as far as somebody watches it. */
  holdsMoreThan(count: number): boolean {
    return (
      Iterator.from(this.#list?.() ?? [])
        .drop(count)
        .next().done !== true
    );
  }

  /** Of a folder that is not watched all files are given, as they are now. */
  async candidates(query: TextQuery, listed?: Listed): Promise<Candidates> {
    if (listed !== undefined) return this.#candidatesOf(query, listed);
    for (const path of this.#blocks) {
      if (this.#options.hasBlock(path)) continue;
      this.#blocks.delete(path);
      this.#waiting.set(path, (this.#changes += 1));
    }
    // What failed is tried again for whoever needs it.
    this.#work();
    if (!this.#isCompared) await this.#firstComparison();
    const list = this.#list;
    if (list === undefined) return { known: [], unknown: [], listed: undefined };
    if (!this.#isCompared) return everything(list());
    // Before the index is asked: what it takes in meanwhile is looked at twice rather than never.
    const unknown = [...this.#waiting.keys(), ...this.#unreadable];
    try {
      const known = await this.#options.index.candidates(this.#options.root, query);
      return { known, unknown, listed: list() };
    } catch (error) {
      this.#failed(error);
      return everything(list());
    }
  }

  /** The first so many of them, as they are now. */
  read(paths: readonly string[], units: number): Promise<FileFinding[]> {
    const { index, root, largest } = this.#options;
    return index.read({ folder: root, paths, largest, units });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#first.resolve();
    await this.settled();
  }

  async #candidatesOf(query: TextQuery, listed: Listed): Promise<Candidates> {
    const { index, root } = this.#options;
    try {
      const unknown = await index.compare(root, this.#pages(listed));
      return { known: await index.candidates(root, query), unknown, listed };
    } catch (error) {
      this.#failed(error);
      return everything(listed);
    }
  }

  async #firstComparison(): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = this.#options.timers.after(PATIENCE, late.resolve);
    await Promise.race([this.#first.promise, late.promise]);
    timer.cancel();
  }

  get #isCompared(): boolean {
    return this.#list !== undefined && this.#compared === this.#asked;
  }

  get #isDone(): boolean {
    return this.#closed || (this.#isCompared && this.#gone.size + this.#waiting.size === 0);
  }

  #work(): void {
    if (this.#list !== undefined) this.#working ??= this.#run(this.#list);
  }

  async #run(list: () => Listed): Promise<void> {
    try {
      // Others have their turn first, whoever has just told of a change.
      await setImmediate();
      while (!this.#isDone) await this.#step(list);
      this.#trouble = "";
    } catch (error) {
      this.#failed(error);
    } finally {
      // At once behind the last look at what is to do: whoever comes now starts anew.
      this.#working = undefined;
      this.#first.resolve();
    }
  }

  async #step(list: () => Listed): Promise<void> {
    const { index, root } = this.#options;
    if (!this.#isCompared) {
      const asked = this.#asked;
      const other = await compared(index, root, this.#pages(list()));
      if (other === undefined) return;
      for (const path of other)
        if (!this.#waiting.has(path)) this.#waiting.set(path, (this.#changes += 1));
      this.#compared = asked;
      this.#first.resolve();
    } else if (this.#gone.size > 0) {
      const gone = [...this.#gone];
      this.#gone.clear();
      await index.forget(root, gone);
    } else {
      await this.#take([...this.#waiting.entries().take(TOGETHER)]);
    }
  }

  async #take(batch: readonly (readonly [path: string, change: number])[]): Promise<void> {
    const { index, root, largest } = this.#options;
    const changes = new Map(batch);
    const done = (path: string, unreadable = false): void => {
      // What changed meanwhile waits on, and what went is nothing that could be read.
      if (this.#waiting.get(path) !== changes.get(path)) return;
      this.#waiting.delete(path);
      if (unreadable) this.#unreadable.add(path);
    };
    const {
      secrets = [],
      blocks = [],
      paths = [],
    } = Object.groupBy(changes.keys(), (path) => {
      if (this.#options.isSecret(path)) return "secrets";
      return this.#options.hasBlock(path) ? "blocks" : "paths";
    });
    if (secrets.length > 0) await index.forget(root, secrets);
    // Not told to the index, which would start its thread amid somebody's edits: the next comparison takes them out.
    for (const path of blocks) this.#blocks.add(path);
    for (const path of [...secrets, ...blocks]) done(path);
    if (paths.length === 0) return;
    const reading = { folder: root, paths, largest, units: UNITS_TOGETHER };
    for (const { path, unreadable } of await index.take(reading)) done(path, unreadable);
  }

  async *#pages(listed: Listed): AsyncGenerator<IdentifiedFile[]> {
    const options = this.#options;
    let page: IdentifiedFile[] = [];
    for (const [path, stamp] of listed) {
      if (options.hasBlock(path) || options.isSecret(path)) continue;
      page.push({ path, identity: identityText(stamp) });
      if (page.length < TOGETHER) continue;
      yield page;
      page = [];
      await setImmediate();
    }
    yield page;
  }

  #failed(error: unknown): void {
    if (!(error instanceof KumikoError)) throw error;
    this.#asked += 1;
    if (this.#closed || this.#trouble === error.message) return;
    this.#trouble = error.message;
    this.#options.onTrouble(error);
  }
}

/** Undefined when the index was cleared meanwhile: then what it said in between counts for nothing. */
async function compared(
  index: FileIndex,
  root: string,
  files: AsyncIterable<readonly IdentifiedFile[]>,
): Promise<readonly string[] | undefined> {
  try {
    return await index.compare(root, files);
  } catch (error) {
    if (error instanceof KumikoError && error.facts["cleared"] === true) return undefined;
    throw error;
  }
}

function everything(listed: Listed): Candidates {
  return { known: [], unknown: Array.from(listed, ([path]) => path), listed };
}
