import { spawn } from "node:child_process";
import { once } from "node:events";
import { KumikoError } from "../../base/index.ts";
import { printJson, styled } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import { type FileConflict, printConflict } from "../home/file-answer.ts";
import { leavesUnsaved, printUnsaved } from "../home/tool-answer.ts";
import { printHistory } from "../home/history-answer.ts";
import type { HomeFlags } from "../home/options.ts";
import { bold, dim } from "../home/paint.ts";
import { filePathFrom, shownPath, withShownPaths } from "../home/paths.ts";
import type { OpenKernel } from "../home/access.ts";
import { type Caller, withKernel } from "../home/with-kernel.ts";
import type { Terminal } from "../terminal.ts";
import { callFileTool } from "./call-file-tool.ts";
import { EditedCopy } from "./edited-copy.ts";

const COMMAND = "kumiko edit";

/** What the editor's text is made of. */
interface Opened {
  readonly text: string;
  /** 0 when there is no such file. */
  readonly version: number;
  /** Whether no version of the file says that. */
  readonly isOwn: boolean;
}

interface Merged {
  readonly version: number;
  readonly merged: boolean;
  /** The file had been deleted meanwhile, and is there again. */
  readonly remade?: true;
  /** What is not on disk although it was merged. */
  readonly unsaved?: readonly Readonly<Record<string, unknown>>[];
}

/** What became of what the editor saved. */
interface Edited {
  /** Why the editor failed. */
  readonly failure: string | undefined;
  readonly remade: boolean;
  readonly unsaved: NonNullable<Merged["unsaved"]>;
}

interface Entry {
  readonly version: number;
  readonly actor: string;
}

interface Status {
  readonly files: readonly { readonly block_id?: string; readonly status: string }[];
  readonly conflicts: readonly FileConflict[];
}

const NO_FILE: Status = { files: [], conflicts: [] };

/**
 * Opens a copy of what the file's block says now in the person's editor, and merges whatever is saved there: with the
 * file itself, nobody could tell what a person took out from what the editor had never seen. The kernel is free for
 * others while the editor is open.
 */
export async function editFile(
  terminal: Terminal,
  given: string,
  flags: HomeFlags,
): Promise<number> {
  const file = filePathFrom(terminal, given);
  // Whatever is wrong with the path is said before anything is asked for.
  const opened = await open(terminal, file, flags);
  const editor = editorOf(terminal);
  await using copy = await EditedCopy.make(file, opened.version === 0 ? undefined : opened.text);
  const { failure, remade, ...done } = await edited(terminal, {
    editor,
    copy,
    file,
    opened,
    flags,
  });
  if (failure !== undefined) await terminal.complain(`kumiko: ${failure}\n`);
  const tell = async (kernel: OpenKernel, caller: Caller): Promise<number> => {
    const ask = <Answer>(tool: string, input: { readonly [name: string]: unknown }) =>
      callFileTool<Answer>(kernel, caller, tool, input);
    const name = shownPath(terminal, file);
    const status = await ask<Status>("file_status", { path: file }).catch((error: unknown) => {
      // A new one that the person did not write after all.
      if (error instanceof KumikoError && error.code === "not_on_disk") return NO_FILE;
      throw error;
    });
    const block_id = status.files[0]?.block_id;
    const unsaved = status.files[0]?.status === "synced" ? [] : done.unsaved;
    const history =
      block_id === undefined
        ? { versions: [] }
        : await ask<{ versions: Entry[] }>("block_history", { block_id, limit: 1000 });
    const versions = history.versions.filter((each) => each.version > opened.version);
    const version = history.versions[0]?.version ?? 0;
    const { conflicts } = status;
    if (flags.json) {
      const from_version = opened.version === 0 ? null : opened.version;
      const facts = { path: name, block_id: block_id ?? null, from_version, version };
      const ended = failure === undefined ? {} : { editor: failure };
      const ok = failure === undefined;
      await printJson(terminal, {
        ok,
        counted_from: 0,
        ...facts,
        ...ended,
        ...(remade && { remade }),
        ...(unsaved.length > 0 && { unsaved }),
        versions,
        conflicts,
      });
    } else {
      const shown = await withShownPaths(terminal, kernel, conflicts);
      const lines = [
        ...told(terminal, name, version, versions, caller.actor),
        ...(remade ? [`${name} had been deleted meanwhile: it is made again.`] : []),
        ...printUnsaved(terminal, await withShownPaths(terminal, kernel, unsaved)),
        ...shown.flatMap((each) => ["", ...printConflict(terminal, each)]),
      ];
      await terminal.print(`${lines.join("\n")}\n`);
    }
    if (failure !== undefined) return exitCode.trouble;
    if (leavesUnsaved(unsaved)) return exitCode.unsaved;
    return conflicts.length > 0 ? exitCode.different : exitCode.fine;
  };
  return withKernel(terminal, flags, COMMAND, tell, { path: file });
}

/** What the file says, if this person may change it. */
function open(terminal: Terminal, file: string, flags: HomeFlags): Promise<Opened> {
  const read = async (kernel: OpenKernel, caller: Caller): Promise<Opened> => {
    let [text, version] = ["", 0];
    try {
      const input = { block_id: file, line_numbers: false };
      const found = await callFileTool<{ content: string; version: number }>(
        kernel,
        caller,
        "block_read",
        input,
      );
      [text, version] = [found.content, found.version];
    } catch (error) {
      const isNew = error instanceof KumikoError && error.code === "not_on_disk";
      if (!isNew || error.facts["folder"] === true) throw error;
    }
    // It changes nothing, and is refused when a change would be.
    const input = { path: file, text, base_version: version };
    await callFileTool<Merged>(kernel, caller, "file_merge", input);
    return { text, version, isOwn: false };
  };
  return withKernel(terminal, flags, COMMAND, read, { path: file });
}

interface Session {
  readonly editor: string;
  readonly copy: EditedCopy;
  readonly file: string;
  readonly opened: Opened;
  readonly flags: HomeFlags;
}

/** Merges what is saved, each time. Gives what to tell of the editor. */
async function edited(
  terminal: Terminal,
  { editor, copy, file, opened, flags }: Session,
): Promise<Edited> {
  let last = opened;
  let remade = false;
  let unsaved: Edited["unsaved"] = [];
  const merge = async (): Promise<void> => {
    const text = await copy.read();
    if (text === undefined || text === last.text) return;
    const base = last.isOwn ? { base: last.text } : {};
    const input = { path: file, text, base_version: last.version, ...base };
    const save = (kernel: OpenKernel, caller: Caller): Promise<Merged> =>
      callFileTool(kernel, caller, "file_merge", input);
    const saving = withKernel(terminal, flags, COMMAND, save, { path: file });
    const { version, merged, ...done } = await saving;
    last = { text, version, isOwn: merged };
    remade ||= done.remade === true;
    unsaved = done.unsaved ?? [];
  };
  let merging = Promise.resolve();
  let failed: ((isSaved: boolean) => string) | undefined;
  {
    // One that fails is made again at the next save, or at the end, where it is told.
    using _ = copy.onSaved(() => {
      merging = merging.then(merge).catch(() => undefined);
    });
    failed = await waitForEditor(terminal, editor, copy.path);
  }
  await merging;
  try {
    await merge();
  } catch (error) {
    copy.keep();
    await terminal.complain(`kumiko: what you wrote is kept in ${copy.path}\n`);
    throw error;
  }
  return { failure: failed?.(last !== opened), remade, unsaved };
}

/** Ctrl-C is the editor's. Gives what to tell when it failed, by whether something was saved. */
async function waitForEditor(
  terminal: Terminal,
  editor: string,
  file: string,
): Promise<((isSaved: boolean) => string) | undefined> {
  using _ = terminal.interruption();
  const child = spawn("sh", ["-c", `${editor} "$@"`, editor, file], {
    cwd: terminal.folder,
    env: { ...process.env, ...terminal.environment },
    stdio: "inherit",
  });
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  if (code === 0) return undefined;
  // The shell's word for a program that it does not find.
  if (code === 127)
    return () => `the editor (${editor}) was not found: set $VISUAL or $EDITOR to another`;
  return (isSaved) =>
    `the editor (${editor}) ended with ${code ?? signal}; ${isSaved ? "what it saved is taken in" : "it saved nothing"}`;
}

function editorOf({ environment }: Terminal): string {
  const editor = environment["VISUAL"] || environment["EDITOR"];
  if (editor) return editor;
  throw new KumikoError(
    "invalid_argument",
    "Which editor? Set $VISUAL or $EDITOR, for example EDITOR=vim.",
    { variables: ["VISUAL", "EDITOR"] },
  );
}

function told(
  terminal: Terminal,
  name: string,
  version: number,
  versions: readonly Entry[],
  actor: string,
): string[] {
  const nothing = version === 0 ? "was not written" : "is as it was";
  if (versions.length === 0) return [`${bold(terminal, name)} ${dim(terminal, nothing)}`];
  const others = [...new Set(versions.map((each) => each.actor))].filter((each) => each !== actor);
  const own = versions.some((each) => each.actor === actor);
  const what = own
    ? others.length > 0
      ? `: yours, merged with what ${others.join(", ")} wrote meanwhile`
      : ": yours"
    : `: you changed nothing, ${others.join(", ")} did`;
  return [
    `${bold(terminal, name)} is now version ${version}${styled(terminal, "green", what)}`,
    ...printHistory(terminal, { versions }),
  ];
}
