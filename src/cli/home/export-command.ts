import { extname } from "node:path";
import { KumikoError } from "../../base/index.ts";
import type { BlockText, Kernel, ListedBlock } from "../../kernel/index.ts";
import { printJson, styled } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { counted } from "./counted.ts";
import { ExportFolder } from "./export-folder.ts";
import type { HomeFlags } from "./options.ts";
import { untilInterrupted, withKernel } from "./with-kernel.ts";

export interface ExportFlags extends HomeFlags {
  readonly context?: string;
  readonly atPosition?: number;
  readonly force?: boolean;
}

interface Entry {
  readonly context: string;
  readonly block: string;
  readonly name: string;
  description: object;
  unreadable: string | undefined;
}

/** Writes one file per block, in conversation order, and an index that says what they are. */
export function exportKernel(
  terminal: Terminal,
  name: string,
  flags: ExportFlags,
): Promise<number> {
  return withKernel(terminal, flags, "kumiko export", async (kernel, { signal }) => {
    const position = flags.atPosition ?? kernel.feed.head;
    kernel.feed.checkPosition(position);
    if (flags.context !== undefined) await kernel.contexts.check(flags.context);
    const contexts = (await kernel.contexts.list()).filter(
      ({ context }) => flags.context === undefined || flags.context === context,
    );
    const folder = await ExportFolder.prepare(terminal, name, flags.force ?? false);
    const authors = await untilInterrupted(signal, kernel.authors(position));
    const entries: Entry[] = [];
    for (const { context } of contexts)
      entries.push(...(await untilInterrupted(signal, entriesOf(kernel, context, position))));
    const files = entries.map((entry) => ({
      name: entry.name,
      text: () => textOf(kernel, entry, position, authors),
    }));
    await folder.write(files, signal, progress(terminal, flags.json, files.length));
    const unreadable = entries.filter((entry) => entry.unreadable !== undefined);
    const written = entries.filter((entry) => entry.unreadable === undefined);
    await folder.finish(
      written.map((entry) => entry.name),
      {
        kernel: kernel.id,
        position,
        contexts: contexts.map((info) => ({
          ...info,
          blocks: entries.filter(({ context }) => context === info.context).map(toIndex),
        })),
      },
    );
    const facts = { folder: folder.path, position, blocks: written.length };
    if (flags.json) {
      const bad = unreadable.map(({ block, unreadable: why }) => ({ block, why }));
      await printJson(terminal, { ok: unreadable.length === 0, ...facts, unreadable: bad });
    } else {
      const count = counted(written.length, "block");
      await terminal.print(`${styled(terminal, "bold", count)} in ${folder.path}\n`);
      for (const { block } of unreadable)
        await terminal.complain(`kumiko: ${block} was left out\n`);
    }
    return unreadable.length === 0 ? exitCode.fine : exitCode.rejected;
  });
}

/** Depth first, children below their parents; however deep, without a stack of calls. */
async function entriesOf(kernel: Kernel, context: string, position: number): Promise<Entry[]> {
  const found: ListedBlock[] = [];
  const open: AsyncGenerator<ListedBlock, void, void>[] = [childrenOf(kernel, context, null)];
  while (open.length > 0) {
    const next = await open.at(-1)!.next();
    if (next.done === true) {
      open.pop();
    } else if (next.value.created <= position) {
      found.push(next.value);
      open.push(childrenOf(kernel, context, next.value.block));
    }
  }
  const width = Math.max(4, String(found.length).length);
  return found.map(({ block, state, quarantined }, at) => ({
    context,
    block,
    name: `${context}/${String(at + 1).padStart(width, "0")}-${block}${extension(state?.metadata["path"])}`,
    description: {},
    unreadable: quarantined,
  }));
}

async function* childrenOf(
  kernel: Kernel,
  context: string,
  parent: string | null,
): AsyncGenerator<ListedBlock, void, void> {
  const limit = 200;
  let after: string | undefined;
  for (;;) {
    const page = await kernel.children({ context, parent, after, limit });
    yield* page;
    if (page.length < limit) return;
    after = page.at(-1)!.order;
  }
}

function extension(path: unknown): string {
  const own = typeof path === "string" ? extname(path) : "";
  return /^\.[A-Za-z0-9]{1,10}$/.test(own) ? own : ".txt";
}

async function textOf(
  kernel: Kernel,
  entry: Entry,
  position: number,
  authors: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<string | undefined> {
  if (entry.unreadable !== undefined) return undefined;
  let read: BlockText;
  try {
    const now = position === kernel.feed.head;
    read = await (now ? kernel.read(entry.block) : kernel.readAt(entry.block, position));
  } catch (error) {
    if (!(error instanceof KumikoError) || error.code !== "quarantined") throw error;
    entry.unreadable = error.message;
    return undefined;
  }
  const { parent, kind, role, status, flags, metadata, created } = read.state;
  const actors = [...(authors.get(entry.block) ?? [])];
  const { version } = read;
  entry.description = {
    parent_id: parent,
    kind,
    role,
    status,
    flags,
    metadata,
    created,
    version,
    actors,
  };
  return read.text;
}

function toIndex({ block, name, description, unreadable }: Entry): object {
  return unreadable === undefined
    ? { block_id: block, file: name, ...description }
    : { block_id: block, file: null, unreadable };
}

/** A line that counts, where a person watches. */
function progress(terminal: Terminal, json: boolean, all: number): (done: number) => Promise<void> {
  if (!terminal.interactive || json) return () => Promise.resolve();
  return async (done) => {
    if (done === all) await terminal.complain(`\r${" ".repeat(40)}\r`);
    else if (done % 100 === 0) await terminal.complain(`\r${done} of ${all} blocks`);
  };
}
