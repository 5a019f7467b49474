import { printJson, styled } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { printedBytes } from "./bytes.ts";
import { moment } from "./moment.ts";
import type { HomeFlags } from "./options.ts";
import { homeOf, withAccess } from "./with-kernel.ts";

export function newKernel(terminal: Terminal, kernel: string, flags: HomeFlags): Promise<number> {
  const home = homeOf(terminal, flags, "kumiko kernel new");
  const folder = home.folderOf(kernel);
  const atOnce = (): Promise<void> => Promise.resolve();
  return withAccess(terminal, flags, home, atOnce, async (access) => {
    await access.world(async (world) => void (await world.createKernel({ kernel })), {
      retry: false,
    });
    if (flags.json) await printJson(terminal, { ok: true, kernel, folder });
    else await terminal.print(`${styled(terminal, "bold", kernel)} is ready in ${folder}\n`);
    return exitCode.fine;
  });
}

/** The folders say it, with a server or without. */
export async function listKernels(terminal: Terminal, flags: HomeFlags): Promise<number> {
  const home = homeOf(terminal, flags, "kumiko kernel list");
  const kernels = await home.list();
  const { place } = home;
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
}
