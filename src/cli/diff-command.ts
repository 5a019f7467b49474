import { KumikoError } from "../base/index.ts";
import { measuredUnifiedDiff } from "../blocks/patch/index.ts";
import { printJson, styled } from "./answer.ts";
import { exitCode } from "./exit-code.ts";
import { decodeNamed, readNamedBytes } from "./input.ts";
import type { Terminal } from "./terminal.ts";

export interface DiffFlags {
  readonly context: number;
  readonly label: readonly string[];
  readonly json: boolean;
}

export async function runDiff(
  terminal: Terminal,
  oldName: string,
  newName: string,
  flags: DiffFlags,
): Promise<number> {
  if (oldName === "-" && newName === "-") {
    throw new KumikoError(
      "invalid_argument",
      "Only one of the two texts can come from standard input.",
    );
  }
  if (flags.label.length > 2) {
    throw new KumikoError(
      "invalid_argument",
      "--label can be given twice: for the old name and the new one.",
    );
  }
  const oldBytes = await readNamedBytes(terminal, oldName);
  const newBytes = await readNamedBytes(terminal, newName);
  const equal = Buffer.compare(oldBytes, newBytes) === 0;
  const diff = equal
    ? { text: "", coarse: false }
    : measuredUnifiedDiff(decodeNamed(oldBytes, oldName), decodeNamed(newBytes, newName), {
        oldName: flags.label[0] ?? oldName,
        newName: flags.label[1] ?? newName,
        context: flags.context,
      });
  if (flags.json)
    await printJson(terminal, {
      ok: true,
      different: !equal,
      diff: diff.text,
      coarse: diff.coarse,
    });
  else if (!equal) await terminal.print(coloured(terminal, diff.text));
  return equal ? exitCode.fine : exitCode.different;
}

function coloured(terminal: Terminal, diff: string): string {
  if (!terminal.colour) return diff;
  return diff
    .split("\n")
    .map((line, at) => {
      if (at < 2) return styled(terminal, "bold", line);
      if (line.startsWith("@@")) return styled(terminal, "cyan", line);
      if (line.startsWith("-")) return styled(terminal, "red", line);
      return line.startsWith("+") ? styled(terminal, "green", line) : line;
    })
    .join("\n");
}
