import { extname } from "node:path";
import type { HomeFolder } from "../../app/index.ts";
import { findServer } from "../../app/running.ts";
import { KumikoError } from "../../base/index.ts";
import type { RpcAnswers, RpcKernel } from "../../protocol/index.ts";
import { printJson, styled } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import type { OpenKernel } from "./access.ts";
import { chosenKernel } from "./chosen-kernel.ts";
import { counted } from "./counted.ts";
import { ExportFolder } from "./export-folder.ts";
import type { HomeFlags } from "./options.ts";
import { describedRescue, rescue } from "./rescue.ts";
import { homeOf, untilInterrupted, withKernel } from "./with-kernel.ts";

export interface ExportFlags extends HomeFlags {
  readonly context?: string;
  readonly atPosition?: number;
  readonly force?: boolean;
}

type Exported = RpcAnswers["Kernel"]["exportPage"]["blocks"][number];
type Authors = RpcAnswers["Kernel"]["authors"];

interface Entry {
  readonly context: string;
  readonly block: string;
  readonly index: object;
  /** Undefined when it could not be read. */
  readonly file: string | undefined;
  readonly why: string | undefined;
}

/** A conversation, or a folder whose files are blocks (`@src`). */
type Exporting = Partial<RpcAnswers["Kernel"]["listContexts"][number]> & {
  readonly context: string;
};

/** What was written before something turned out to be broken. */
interface Begun {
  folder?: ExportFolder;
  readonly files: string[];
}

/**
 * Writes one file per block, in conversation order, and an index that says what they are. Blocks that are files are
 * below their folder's name, also those that are gone from disk. Of a database whose structure is broken, what the
 * doctor can read is written in its place.
 */
export async function exportKernel(
  terminal: Terminal,
  name: string,
  flags: ExportFlags,
): Promise<number> {
  const begun: Begun = { files: [] };
  try {
    return await exportWhole(terminal, name, flags, begun);
  } catch (error) {
    const broken = error instanceof KumikoError && error.code === "damaged";
    const everything = flags.context === undefined && flags.atPosition === undefined;
    const home = homeOf(terminal, flags, "kumiko export");
    if (!broken || !everything || (await findServer(home.place)) !== undefined) throw error;
    const folder =
      begun.folder ?? (await ExportFolder.prepare(terminal, name, flags.force ?? false));
    await folder.withdraw(begun.files);
    return rescueInstead(terminal, flags, home, folder, error);
  }
}

async function rescueInstead(
  terminal: Terminal,
  flags: ExportFlags,
  home: HomeFolder,
  folder: ExportFolder,
  error: KumikoError,
): Promise<number> {
  using interruption = terminal.interruption();
  const { id: kernel } = await chosenKernel(terminal, flags, home);
  const rescued = await home.examine(kernel, (store) =>
    rescue(folder, kernel, store, interruption.signal),
  );
  if (flags.json) {
    await printJson(terminal, { ok: false, kernel, broken: error.message, rescued });
  } else {
    await terminal.print(`${describedRescue(rescued)}\n`);
    await terminal.complain(
      `kumiko: ${error.message}\nkumiko: so what can be read was taken from a copy, as kumiko doctor --export does\n`,
    );
  }
  return exitCode.rejected;
}

function exportWhole(
  terminal: Terminal,
  name: string,
  flags: ExportFlags,
  begun: Begun,
): Promise<number> {
  return withKernel(terminal, flags, "kumiko export", async (kernel, { signal }) => {
    const reading = <Result>(run: (each: RpcKernel) => Promise<Result>): Promise<Result> =>
      untilInterrupted(signal, kernel.ask(run));
    const position = flags.atPosition ?? (await reading((each) => each.position())).position;
    const authors = await reading((each) => each.authors({ position }));
    const contexts = await chosenContexts(kernel, flags.context, authors);
    const folder = await ExportFolder.prepare(terminal, name, flags.force ?? false);
    begun.folder = folder;
    const tell = progress(terminal, flags.json, Object.keys(authors).length);
    const entries: Entry[] = [];
    for (const { context } of contexts) {
      const nameOf = namer(context, authors);
      for (let after: string | undefined, more = true; more; more = after !== undefined) {
        const asked = { context, position, ...(after !== undefined && { after }) };
        const page = await reading((each) => each.exportPage(asked));
        const named = page.blocks.map((block) => ({ block, name: nameOf(block) }));
        const files = named.map((each) => ({ name: each.name, text: async () => each.block.text }));
        const before = entries.length;
        begun.files.push(...named.map((each) => each.name));
        await folder.write(files, signal, (done) => tell(before + done));
        entries.push(...named.map((each) => entryOf(context, each.block, each.name, authors)));
        ({ after } = page);
      }
    }
    const unreadable = entries.filter(({ file }) => file === undefined);
    const broken = unreadable.find(({ why }) => why?.includes("SQLITE_"))?.why;
    if (broken !== undefined) throw new KumikoError("damaged", broken, {});
    const written = entries.flatMap(({ file }) => file ?? []);
    await folder.finish(written, {
      kernel: kernel.id,
      position,
      contexts: contexts.map((info) => ({
        ...info,
        blocks: entries.filter((each) => each.context === info.context).map(({ index }) => index),
      })),
    });
    const facts = { folder: folder.path, position, blocks: written.length };
    if (flags.json) {
      const bad = unreadable.map(({ index }) => index);
      await printJson(terminal, { ok: unreadable.length === 0, ...facts, unreadable: bad });
    } else {
      const count = counted(written.length, "block");
      await terminal.print(`${styled(terminal, "bold", count)} in ${folder.path}\n`);
      for (const { block, why } of unreadable)
        await terminal.complain(`kumiko: ${block} was left out${why ? `: ${why}` : ""}\n`);
    }
    return unreadable.length === 0 ? exitCode.fine : exitCode.rejected;
  });
}

async function chosenContexts(
  kernel: OpenKernel,
  context: string | undefined,
  authors: Authors,
): Promise<Exporting[]> {
  if (context?.startsWith("@") === true) return [await chosenFolder(kernel, context, authors)];
  // Refused when there is none of that name.
  if (context !== undefined)
    await kernel.ask(async (each) => {
      using opened = await each.openContext({ context });
      return opened === undefined;
    });
  const all = await kernel.ask((each) => each.listContexts());
  if (context !== undefined) return all.filter((info) => info.context === context);
  return [...all, ...foldersIn(authors).map((folder) => ({ context: folder }))];
}

/** Folders whose files have blocks, whether they are mounted now or not. */
function foldersIn(authors: Authors): string[] {
  const contexts = Object.keys(authors).map((block) => block.slice(0, block.indexOf("~")));
  return [...new Set(contexts.filter((context) => context.startsWith("@")))].toSorted();
}

/** One that is mounted and of which nothing was read yet is there too. */
async function chosenFolder(
  kernel: OpenKernel,
  context: string,
  authors: Authors,
): Promise<Exporting> {
  const mounts = await kernel.ask((each) => each.mounts());
  const known = [...new Set([...foldersIn(authors), ...mounts.map(({ mount }) => `@${mount}`)])];
  if (known.includes(context)) return { context };
  throw new KumikoError(
    "unknown_context",
    `There is no folder ${context}` +
      (known.length > 0 ? `; there are: ${known.join(", ")}.` : ": nothing is mounted."),
    { context, contexts: known },
  );
}

/** Names in conversation order, all of one width. */
function namer(context: string, authors: Authors): (block: Exported) => string {
  const all = Object.keys(authors).filter((block) => block.startsWith(`${context}~`)).length;
  const width = Math.max(4, String(all).length);
  let number = 0;
  return ({ block_id, metadata }) => {
    number += 1;
    const place = String(number).padStart(width, "0");
    return `${context}/${place}-${block_id}${extension(metadata?.["path"])}`;
  };
}

function extension(path: unknown): string {
  const own = typeof path === "string" ? extname(path) : "";
  return /^\.[A-Za-z0-9]{1,10}$/.test(own) ? own : ".txt";
}

function entryOf(context: string, exported: Exported, name: string, authors: Authors): Entry {
  const { block_id, unreadable, text, ...description } = exported;
  if (unreadable !== undefined || text === undefined) {
    const index = { block_id, file: null, unreadable };
    return { context, block: block_id, index, file: undefined, why: unreadable };
  }
  const index = { block_id, file: name, ...description, actors: authors[block_id] ?? [] };
  return { context, block: block_id, index, file: name, why: undefined };
}

/** A line that counts, where a person watches. */
function progress(terminal: Terminal, json: boolean, all: number): (done: number) => Promise<void> {
  const { progress: show } = terminal;
  if (show === undefined || json) return () => Promise.resolve();
  return async (done) => {
    if (done === all) await show("");
    else if (done % 100 === 0) await show(`${done} of ${all} blocks`);
  };
}
