import { setTimeout as sleep } from "node:timers/promises";
import { actorName, HomeFolder, homeFolder, openWorld } from "../../app/index.ts";
import { KumikoError } from "../../base/index.ts";
import type { DamageReport, Kernel, World } from "../../kernel/index.ts";
import { printedFact } from "../answer.ts";
import type { Terminal } from "../terminal.ts";
import { DEFAULT_KERNEL, type HomeFlags } from "./options.ts";

/** Who calls, as far as the command line says. */
export interface Caller {
  readonly actor: string;
  readonly signal: AbortSignal;
}

export function homeOf(terminal: Terminal, flags: HomeFlags, command: string): HomeFolder {
  return new HomeFolder(homeFolder(flags.home, terminal.environment, terminal.folder), command);
}

export function kernelOf(terminal: Terminal, flags: HomeFlags): string {
  return flags.kernel ?? (terminal.environment["KUMIKO_KERNEL"] || DEFAULT_KERNEL);
}

/** Opens the world for as long as `run` takes. Ctrl-C is answered by closing it, not by falling over. */
export async function withWorld<Result>(
  terminal: Terminal,
  flags: HomeFlags,
  command: string,
  run: (world: World, caller: Caller) => Promise<Result>,
): Promise<Result> {
  const actor = actorName(flags.actor, terminal.environment);
  using interruption = terminal.interruption();
  const { signal } = interruption;
  const damages: DamageReport[] = [];
  let refused: string | undefined;
  try {
    const home = homeOf(terminal, flags, command);
    await using world = openWorld(home, (report) => damages.push(report));
    return await run(world, { actor, signal });
  } catch (error) {
    if (error instanceof KumikoError) refused = printedFact(error.facts["block"]);
    if (!signal.aborted || error instanceof KumikoError) throw error;
    throw new KumikoError("aborted", "Interrupted.", { interrupted: true }, { cause: error });
  } finally {
    // When the world is closed: some damage is found only by what is done meanwhile.
    for (const { block, table, why } of damages.filter((report) => report.block !== refused))
      await terminal.complain(
        `kumiko: ${block ?? `a row in ${table}`} is damaged (${why}): run kumiko doctor\n`,
      );
  }
}

/** The same with the chosen kernel; `create` makes the default one when it is not there. */
export async function withKernel<Result>(
  terminal: Terminal,
  flags: HomeFlags,
  command: string,
  run: (kernel: Kernel, caller: Caller) => Promise<Result>,
  { create = false }: { create?: boolean } = {},
): Promise<Result> {
  const id = kernelOf(terminal, flags);
  return withWorld(terminal, flags, command, async (world, caller) => {
    const mayCreate = create && id === DEFAULT_KERNEL;
    const open = () => (mayCreate ? world.openOrCreate(id) : world.open(id));
    return run(await whenFree(open, flags.wait, caller.signal), caller);
  });
}

/** Another command may just be using the kernel: each takes it for a moment only. */
async function whenFree<Result>(
  open: () => Promise<Result>,
  seconds: number,
  signal: AbortSignal,
): Promise<Result> {
  const until = performance.now() + seconds * 1000;
  for (;;) {
    try {
      return await open();
    } catch (error) {
      const busy = error instanceof KumikoError && error.code === "in_use";
      if (!busy || signal.aborted || performance.now() >= until) throw error;
      await sleep(50);
    }
  }
}

/** For what only reads: Ctrl-C is answered at once, and what was under way is left behind. */
export async function untilInterrupted<Result>(
  signal: AbortSignal,
  reading: Promise<Result>,
): Promise<Result> {
  const { promise: interrupted, reject } = Promise.withResolvers<never>();
  const stop = (): void =>
    reject(new KumikoError("aborted", "Interrupted.", { interrupted: true }));
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([reading, interrupted]);
  } finally {
    signal.removeEventListener("abort", stop);
    // Closing what it reads from may still make it fail; nobody waits for that.
    reading.catch(() => undefined);
  }
}

/** What to type when something is not there yet. */
export function homeHint({ code, facts }: KumikoError): string | undefined {
  if (code === "unknown_kernel") {
    return facts["kernel"] === DEFAULT_KERNEL
      ? "Begin with `kumiko context new <name>`, or choose another home with --home or $KUMIKO_HOME."
      : `Make it with \`kumiko kernel new ${printedFact(facts["kernel"])}\`, or choose another with --kernel.`;
  }
  if (code === "unknown_context")
    return `Make it with \`kumiko context new ${printedFact(facts["context"])}\`.`;
  return undefined;
}
