import { spawn } from "node:child_process";
import { once } from "node:events";
import { setInterval } from "node:timers";
import { KumikoError } from "../../base/index.ts";
import { printJson, styled } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import { type FileConflict, printConflict } from "../home/file-answer.ts";
import { printHistory } from "../home/history-answer.ts";
import type { HomeFlags } from "../home/options.ts";
import { bold, dim } from "../home/paint.ts";
import { pathFrom, shownPath, withShownPaths } from "../home/paths.ts";
import { withKernel } from "../home/with-kernel.ts";
import type { Terminal } from "../terminal.ts";
import { callFileTool } from "./call-file-tool.ts";

/** Milliseconds after which it is said again who writes: shorter than that is believed. */
const AGAIN = 20_000;
const COMMAND = "kumiko edit";
const TOOL = "edit";

interface Changed {
  readonly path: string;
  readonly block_id?: string;
  readonly version?: number;
}

interface Entry {
  readonly version: number;
  readonly actor: string;
}

/**
 * Opens the file itself in the person's editor: what others write meanwhile is on disk too, where the editor sees it, and
 * what the person saved is taken in as theirs. The kernel is free for others while the editor is open.
 */
export async function editFile(
  terminal: Terminal,
  given: string,
  flags: HomeFlags,
): Promise<number> {
  const file = pathFrom(terminal, given);
  const editor = editorOf(terminal);
  const before = await announce(terminal, file, flags);
  const failure = await waitForEditor(terminal, editor, file, async () => {
    if (before.server !== undefined) await announce(terminal, file, flags);
  });
  const name = shownPath(terminal, file);
  return withKernel(terminal, flags, COMMAND, async (kernel, caller) => {
    const input = { path: file, tool: TOOL };
    const after = await callFileTool<Changed>(kernel, caller, "file_changed", input);
    const { block_id = "", version = 0 } = after;
    const history = await callFileTool<{ versions: Entry[] }>(kernel, caller, "block_history", {
      block_id,
      limit: 1000,
    });
    const versions = history.versions.filter((each) => each.version > (before.version ?? 0));
    const status = await callFileTool<{ conflicts: FileConflict[] }>(
      kernel,
      caller,
      "file_status",
      { path: file },
    );
    const { conflicts } = status;
    if (failure !== undefined) await terminal.complain(`kumiko: ${failure}\n`);
    if (flags.json) {
      const facts = { path: name, block_id, from_version: before.version ?? null, version };
      await printJson(terminal, { ok: true, counted_from: 0, ...facts, versions, conflicts });
    } else {
      const shown = await withShownPaths(terminal, kernel, conflicts);
      const lines = [
        ...told(terminal, name, version, versions, caller.actor),
        ...shown.flatMap((each) => ["", ...printConflict(terminal, each)]),
      ];
      await terminal.print(`${lines.join("\n")}\n`);
    }
    return conflicts.length > 0 ? exitCode.different : exitCode.fine;
  });
}

/** From now on what is saved there is this person's. Refused when the rules do not let them. */
function announce(
  terminal: Terminal,
  file: string,
  flags: HomeFlags,
): Promise<Changed & { readonly server: string | undefined }> {
  return withKernel(terminal, flags, COMMAND, async (kernel, caller) => {
    const input = { path: file, begins: true, tool: TOOL };
    const answer = await callFileTool<Changed>(kernel, caller, "file_changed", input);
    return { ...answer, server: kernel.server };
  });
}

/** Ctrl-C is the editor's. Gives what to tell when the editor, or what was said meanwhile, failed. */
async function waitForEditor(
  terminal: Terminal,
  editor: string,
  file: string,
  again: () => Promise<void>,
): Promise<string | undefined> {
  using _ = terminal.interruption();
  let failure: string | undefined;
  const repeating = setInterval(() => {
    again().catch((error: unknown) => {
      failure = `what you saved may be blamed on disk: ${error instanceof Error ? error.message : String(error)}`;
    });
  }, AGAIN);
  try {
    const child = spawn("sh", ["-c", `${editor} "$@"`, editor, file], {
      cwd: terminal.folder,
      env: { ...process.env, ...terminal.environment },
      stdio: "inherit",
    });
    const [code, signal] = (await once(child, "close")) as [number | null, string | null];
    if (code === 0) return failure;
    return `the editor (${editor}) ended with ${code ?? signal}; what it saved is taken in`;
  } finally {
    clearInterval(repeating);
  }
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
  if (versions.length === 0) return [`${bold(terminal, name)} ${dim(terminal, "is as it was")}`];
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
