import { KumikoError } from "../../base/index.ts";
import { printedDiff, printJson } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import type { HomeFlags } from "./options.ts";
import { callTool } from "./call-tool.ts";
import type { OpenKernel } from "./access.ts";
import { type Caller, withKernel } from "./with-kernel.ts";

interface Wanted {
  readonly block: string;
  readonly from: string;
  readonly to: string | undefined;
}

interface Answer {
  readonly diff: string;
}

/** The diff of two versions; as for files, the exit code says whether there is one. */
export async function diffBlock(
  terminal: Terminal,
  { block, from, to }: Wanted,
  flags: HomeFlags,
): Promise<number> {
  const input = { block_id: block, from: version(from), ...(to && { to: version(to) }) };
  const run = (kernel: OpenKernel, caller: Caller): Promise<unknown> =>
    callTool(kernel, caller, { name: "block_diff", arguments: input });
  const path = block;
  const answer = (await withKernel(terminal, flags, "kumiko diff", run, { path })) as Answer;
  const different = answer.diff !== "";
  if (flags.json) await printJson(terminal, { ok: true, different, ...answer });
  else if (different) await terminal.print(printedDiff(terminal, answer.diff));
  return different ? exitCode.different : exitCode.fine;
}

function version(text: string): number | "now" | "disk" {
  if (text === "now" || text === "disk") return text;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new KumikoError(
    "invalid_argument",
    `A block's version is a number, "now" or "disk", not "${text}"; \`kumiko history\` lists them.`,
    { value: text },
  );
}
