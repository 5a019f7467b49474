import { printJson, styled } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { printedBytes } from "./bytes.ts";
import { moment } from "./moment.ts";
import type { HomeFlags } from "./options.ts";
import { homeOf, withWorld } from "./with-kernel.ts";

export function newKernel(terminal: Terminal, kernel: string, flags: HomeFlags): Promise<number> {
  return withWorld(terminal, flags, "kumiko kernel new", async (world) => {
    await world.create(kernel);
    const folder = homeOf(terminal, flags, "").folderOf(kernel);
    if (flags.json) await printJson(terminal, { ok: true, kernel, folder });
    else await terminal.print(`${styled(terminal, "bold", kernel)} is ready in ${folder}\n`);
    return exitCode.fine;
  });
}

export function listKernels(terminal: Terminal, flags: HomeFlags): Promise<number> {
  return withWorld(terminal, flags, "kumiko kernel list", async (world) => {
    const kernels = await world.list();
    const { place } = homeOf(terminal, flags, "");
    if (flags.json) {
      await printJson(terminal, { ok: true, home: place, kernels });
      return exitCode.fine;
    }
    const width = Math.max(0, ...kernels.map(({ kernel }) => kernel.length));
    const lines = kernels.map(
      ({ kernel, created, bytes }) =>
        `${styled(terminal, "bold", kernel.padEnd(width))}  ` +
        styled(terminal, "dim", `since ${moment(created)}, ${printedBytes(bytes)}`),
    );
    if (lines.length === 0) lines.push(`No kernels in ${place} yet: kumiko context new <name>`);
    await terminal.print(`${lines.join("\n")}\n`);
    return exitCode.fine;
  });
}
