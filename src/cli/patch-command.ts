import { resolve } from "node:path";
import {
  type HunkReport,
  parsePatch,
  type Patch,
  reverseFilePatch,
} from "../blocks/patch/index.ts";
import { printJson, styled } from "./answer.ts";
import { exitCode } from "./exit-code.ts";
import { decodeNamed, readNamedBytes } from "./input.ts";
import { type PlannedFile, planPatch } from "./patch-plan.ts";
import type { Terminal } from "./terminal.ts";
import { writeFiles } from "./write-files.ts";

export interface PatchFlags {
  readonly dir?: string;
  readonly file?: string;
  readonly strip?: number;
  readonly fuzz: number;
  readonly reverse: boolean;
  readonly write: boolean;
  readonly json: boolean;
}

export async function runPatch(
  terminal: Terminal,
  patchName: string,
  flags: PatchFlags,
): Promise<number> {
  const text = decodeNamed(await readNamedBytes(terminal, patchName), patchName);
  const parsed = parsePatch(text, flags.strip === undefined ? {} : { strip: flags.strip });
  const patch = flags.reverse ? reversed(parsed) : parsed;
  const plan = await planPatch(patch, {
    folder: resolve(terminal.folder, flags.dir ?? "."),
    target: flags.file ?? null,
    fuzz: flags.fuzz,
    literalNames: flags.strip !== undefined,
  });
  if (flags.write) {
    using interruption = terminal.interruption();
    await writeFiles(plan.changes, interruption.signal);
  }
  if (flags.json) {
    await printJson(terminal, {
      ok: true,
      applied: flags.write,
      counted_from: 1,
      files: plan.files.map((file) => ({ ...file, hunks: file.hunks.map(countedFromOne) })),
      notes: patch.notes,
    });
  } else {
    const lines = plan.files.flatMap((file) => described(terminal, file, flags.write));
    await terminal.print(`${[...lines, ...patch.notes].join("\n")}\n`);
  }
  return exitCode.fine;
}

function reversed(patch: Patch): Patch {
  return { ...patch, files: patch.files.map(reverseFilePatch).toReversed() };
}

function countedFromOne(report: HunkReport): HunkReport {
  const { requestedLine } = report;
  return {
    ...report,
    requestedLine: requestedLine === null ? null : requestedLine + 1,
    line: report.line + 1,
  };
}

const done = { modify: "patched", create: "created", delete: "deleted", rename: "renamed" };
const possible = {
  modify: "fits",
  create: "can be created",
  delete: "can be deleted",
  rename: "can be renamed",
};

function described(terminal: Terminal, file: PlannedFile, written: boolean): string[] {
  const what = written ? done[file.kind] : possible[file.kind];
  const count = file.hunks.length === 1 ? "1 hunk" : `${file.hunks.length} hunks`;
  const lines = [
    `${styled(terminal, "green", what)} ${styled(terminal, "bold", file.path)} (${count})`,
  ];
  for (const report of file.hunks) {
    const remarks = remarksOn(report);
    if (remarks.length > 0)
      lines.push(`  hunk ${report.hunk} at line ${report.line + 1}: ${remarks.join(", ")}`);
  }
  return [...lines, ...file.notes.map((note) => `  ${note}`)];
}

function remarksOn(report: HunkReport): string[] {
  const remarks: string[] = [];
  const { offset } = report;
  if (offset !== 0) {
    const lines = Math.abs(offset) === 1 ? "1 line" : `${Math.abs(offset)} lines`;
    remarks.push(`${lines} ${offset > 0 ? "below" : "above"} its number`);
  }
  if (report.fuzz > 0) remarks.push(`fuzz ${report.fuzz}`);
  if (report.whitespace === true) remarks.push("whitespace ignored");
  if (report.lineEnding === true) remarks.push("line endings of the file kept");
  return remarks;
}
