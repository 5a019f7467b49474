import { join } from "node:path";
import { bytesBelow } from "../../app/index.ts";
import { printJson, styled } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { printedBytes } from "./bytes.ts";
import { counted } from "./counted.ts";
import type { HomeFlags } from "./options.ts";
import { homeOf, untilInterrupted, withKernel } from "./with-kernel.ts";

export interface UsageFlags extends HomeFlags {
  readonly biggest?: number;
}

/** Where the bytes are. */
export function showUsage(terminal: Terminal, flags: UsageFlags): Promise<number> {
  return withKernel(terminal, flags, "kumiko du", async (kernel, { signal }) => {
    const usage = await untilInterrupted(
      signal,
      kernel.ask((each) => each.usage({ biggest: flags.biggest ?? 10 })),
    );
    const folder = homeOf(terminal, flags, "").folderOf(kernel.id);
    const bytes = { ...usage.bytes, scratch: await bytesBelow(join(folder, "scratch")) };
    const total = Object.values(bytes).reduce((sum, each) => sum + each, 0);
    if (flags.json) {
      await printJson(terminal, { ok: true, kernel: kernel.id, folder, total, ...usage, bytes });
      return exitCode.fine;
    }
    const kinds = Object.entries(bytes).toSorted(([, a], [, b]) => b - a);
    const title = (text: string): string => styled(terminal, "bold", text);
    const lines = [
      `${title(kernel.id)}  ${printedBytes(total)} in ${folder}`,
      `${counted(usage.blocks, "block")}, ${counted(usage.versions, "version")}`,
      "",
      title("by kind"),
      ...columns(kinds.map(([kind, size]) => [printedBytes(size), kind])),
      "",
      title("by context (history is counted before it is packed)"),
      ...columns([
        ["history", "text", "blocks", "versions", "context"],
        ...usage.contexts.map(({ context, blocks, versions, text, history }) => [
          printedBytes(history),
          `${text} characters`,
          String(blocks),
          String(versions),
          context,
        ]),
      ]),
      "",
      title("biggest blocks"),
      ...columns([
        ["history", "text", "versions", "block"],
        ...usage.biggest.map(({ block, versions, text, history }) => [
          printedBytes(history),
          `${text} characters`,
          String(versions),
          block,
        ]),
      ]),
    ];
    if (usage.unreadable > 0)
      lines.push("", `${counted(usage.unreadable, "commit")} could not be read: run kumiko doctor`);
    await terminal.print(`${lines.join("\n")}\n`);
    return exitCode.fine;
  });
}

/** Numbers to the right, the last column to the left. */
function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  return rows.map((row) => {
    const last = row.length - 1;
    const cells = row.map((cell, at) => (at === last ? cell : cell.padStart(widths[at]!)));
    return `  ${cells.join("  ")}`;
  });
}
