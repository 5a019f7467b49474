import { actorName, HomeFolder, homeFolder } from "../../app/index.ts";
import { KumikoError } from "../../base/index.ts";
import type { DamageReport } from "../../kernel/index.ts";
import { printedFact } from "../refusal.ts";
import type { Terminal } from "../terminal.ts";
import { type Access, OpenKernel } from "./access.ts";
import { chosenKernel } from "./chosen-kernel.ts";
import { openAccess } from "./open-access.ts";
import type { HomeFlags } from "./options.ts";

/** Who calls, as far as the command line says. */
export interface Caller {
  readonly actor: string;
  readonly signal: AbortSignal;
}

export function homeOf(terminal: Terminal, flags: HomeFlags, command: string): HomeFolder {
  return new HomeFolder(homeFolder(flags.home, terminal.environment, terminal.folder), command);
}

type Enter = (access: Access) => Promise<void>;

/**
 * Opens what there is of the home for as long as `run` takes. Ctrl-C is answered by closing it, not by falling over.
 */
export async function withAccess<Result>(
  terminal: Terminal,
  flags: HomeFlags,
  home: HomeFolder,
  enter: Enter,
  run: (access: Access, caller: Caller) => Promise<Result>,
): Promise<Result> {
  const actor = actorName(flags.actor, terminal.environment);
  using interruption = terminal.interruption();
  const { signal } = interruption;
  const damages: DamageReport[] = [];
  let refused: string | undefined;
  try {
    const { wait, json } = flags;
    const onDamage = (report: DamageReport): void => void damages.push(report);
    const opening = { home, actor, onDamage, wait, json, signal, enter };
    await using access = await openAccess(terminal, opening);
    return await run(access, { actor, signal });
  } catch (error) {
    if (error instanceof KumikoError) refused = printedFact(error.facts["block"]);
    const other = error instanceof KumikoError && error.code !== "aborted";
    const told = error instanceof KumikoError && error.facts["interrupted"] === true;
    if (!signal.aborted || other || told) throw error;
    throw interrupted(error);
  } finally {
    // When all is closed: some damage is found only by what is done meanwhile.
    for (const { block, table, why } of damages.filter((report) => report.block !== refused))
      await terminal.complain(
        `kumiko: ${block ?? `a row in ${table}`} is damaged (${why}): run kumiko doctor\n`,
      );
  }
}

/**
 * The same with the chosen kernel, that of the file or folder spoken of; `create` makes it when it is not there and nobody named
 * another. `run` is told whether it was made.
 */
export async function withKernel<Result>(
  terminal: Terminal,
  flags: HomeFlags,
  command: string,
  run: (kernel: OpenKernel, caller: Caller, made: boolean) => Promise<Result>,
  { create = false, path }: { create?: boolean; path?: string | undefined } = {},
): Promise<Result> {
  const home = homeOf(terminal, flags, command);
  const { id, implied } = await chosenKernel(terminal, flags, home, path);
  let made = false;
  const enter: Enter = async (access) => {
    // A server says with the first call whether there is one; here its lock is taken before anything is done.
    if (access.server !== undefined && !create) return;
    try {
      await access.kernel(id, (kernel) => kernel.position(), { retry: true });
    } catch (error) {
      const absent = error instanceof KumikoError && error.code === "unknown_kernel";
      if (!absent || !create || !implied) throw error;
      made = await createKernel(access, id);
    }
  };
  return withAccess(terminal, flags, home, enter, async (access, caller) => {
    if (access.server === undefined && (await home.isReadOnly(id)))
      await terminal.complain(
        `kumiko: ${home.folderOf(id)} is read-only: this is read from a copy of it as it is now\n`,
      );
    const kernel = new OpenKernel(access, id);
    try {
      return await run(kernel, caller, made);
    } catch (error) {
      if (!isAbsent(error)) throw error;
      const { withWhereabouts } = await import("./elsewhere.ts");
      throw await withWhereabouts(kernel, error);
    }
  });
}

/** What is not here may be in another kernel of the home: its folder got one of its own since. */
function isAbsent(error: unknown): boolean {
  const codes = ["unknown_block", "unknown_context"];
  return error instanceof KumikoError && codes.includes(error.code);
}

/** Gives false when another command has made it meanwhile. */
async function createKernel(access: Access, kernel: string): Promise<boolean> {
  try {
    await access.world(async (world) => void (await world.createKernel({ kernel })), {
      retry: false,
    });
    return true;
  } catch (error) {
    if (!(error instanceof KumikoError) || error.code !== "already_exists") throw error;
    await access.kernel(kernel, (each) => each.position(), { retry: true });
    return false;
  }
}

/** For what only reads: Ctrl-C is answered at once, and what was under way is left behind. */
export async function untilInterrupted<Result>(
  signal: AbortSignal,
  reading: Promise<Result>,
): Promise<Result> {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(interrupted());
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([reading, stopped]);
  } finally {
    signal.removeEventListener("abort", stop);
    // Closing what it reads from may still make it fail; nobody waits for that.
    reading.catch(() => undefined);
  }
}

function interrupted(cause?: unknown): KumikoError {
  return new KumikoError("aborted", "Interrupted.", { interrupted: true }, { cause });
}
