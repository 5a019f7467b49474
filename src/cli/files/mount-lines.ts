import type { RpcAnswers } from "../../protocol/index.ts";
import { styled } from "../answer.ts";
import { shortened, widest } from "../home/columns.ts";
import { counted } from "../home/counted.ts";
import { bold, dim } from "../home/paint.ts";
import type { Terminal } from "../terminal.ts";

type MountedFolder = RpcAnswers["Kernel"]["mounts"][number];

/** One line to a folder, and what is wrong with it below. */
export function mountLines(terminal: Terminal, mounts: readonly MountedFolder[]): string[] {
  const { columns = Infinity } = terminal;
  const names = widest(mounts.map(({ mount: name }) => name)) + 1;
  const facts = mounts.map(factsOf);
  const room = Math.max(20, columns - names - widest(facts) - 4);
  const folders = Math.min(room, widest(mounts.map(({ folder }) => folder)));
  return mounts.flatMap((mounted, at) => {
    const { mount: name, folder, conflicts, trouble } = mounted;
    const painted = conflicts > 0 ? styled(terminal, "red", facts[at]!) : dim(terminal, facts[at]!);
    const row = `${bold(terminal, `@${name}`.padEnd(names))}  ${shortened(folder, folders).padEnd(folders)}  ${painted}`;
    const rules = ruleLines(mounted).map((line) => `  ${dim(terminal, line)}`);
    const told = trouble === undefined ? [] : [`  ${styled(terminal, "red", trouble)}`];
    return [row, ...rules, ...told];
  });
}

/** The rules that were given with it, and hold before those of its file. */
export function ruleLines({
  rules = [],
}: {
  readonly rules?: readonly string[] | undefined;
}): string[] {
  return rules.map((rule) => `--rule ${/^[\w@%+=:,./-]+$/.test(rule) ? rule : `'${rule}'`}`);
}

function factsOf({ files, unsaved, conflicts, manual }: MountedFolder): string {
  return [
    counted(files, "block"),
    ...(manual ? ["saved by hand"] : []),
    ...(unsaved > 0 ? [`${unsaved} unsaved`] : []),
    ...(conflicts > 0 ? [counted(conflicts, "conflict")] : []),
  ].join(", ");
}
