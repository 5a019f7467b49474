import { KumikoError } from "../../base/index.ts";
import { printJson, styled } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { counted } from "./counted.ts";
import type { HomeFlags } from "./options.ts";
import { withKernel } from "./with-kernel.ts";

export interface RetentionFlags extends HomeFlags {
  readonly answeredCalls?: string;
  readonly idleSnapshots?: string;
}

export function showRetention(terminal: Terminal, flags: HomeFlags): Promise<number> {
  return withKernel(terminal, flags, "kumiko retention show", async (kernel) => {
    const settings = await kernel.ask((each) => each.retention());
    if (flags.json) await printJson(terminal, { ok: true, kernel: kernel.id, ...settings });
    else await terminal.print(described(terminal, settings));
    return exitCode.fine;
  });
}

export async function setRetention(terminal: Terminal, flags: RetentionFlags): Promise<number> {
  const { answeredCalls, idleSnapshots } = flags;
  const changes = {
    ...(answeredCalls !== undefined && { answered_calls_days: days(answeredCalls) }),
    ...(idleSnapshots !== undefined && { idle_snapshots_days: days(idleSnapshots) }),
  };
  if (Object.keys(changes).length === 0) {
    throw new KumikoError(
      "invalid_argument",
      "Say what to set: --answered-calls <days> or --idle-snapshots <days>.",
      {},
    );
  }
  return withKernel(terminal, flags, "kumiko retention set", async (kernel, { actor }) => {
    const settings = await kernel.change((each) => each.setRetention({ ...changes, actor }));
    if (flags.json) await printJson(terminal, { ok: true, kernel: kernel.id, ...settings });
    else await terminal.print(described(terminal, settings));
    return exitCode.fine;
  });
}

export function applyRetention(terminal: Terminal, flags: HomeFlags): Promise<number> {
  return withKernel(terminal, flags, "kumiko retention apply", async (kernel) => {
    const removed = await kernel.change((each) => each.applyRetention());
    if (flags.json) await printJson(terminal, { ok: true, kernel: kernel.id, ...removed });
    else
      await terminal.print(
        `forgot ${counted(removed.calls, "answered call")}, dropped ${counted(removed.snapshots, "snapshot")}\n`,
      );
    return exitCode.fine;
  });
}

/** A hundred years. */
const MOST = 36_500;

function days(text: string): number | null {
  if (text === "forever") return null;
  const count = Number(text);
  if (/^\d{1,9}$/.test(text) && (count < 1 || count > MOST)) {
    throw new KumikoError(
      "out_of_range",
      `It takes whole days, 1 to ${MOST}, or "forever"; not ${text}.`,
      { value: count, minimum: 1, maximum: MOST },
    );
  }
  if (/^\d{1,9}$/.test(text)) return count;
  throw new KumikoError("invalid_argument", `"${text}" is not a number of days, nor "forever".`, {
    value: text,
  });
}

function described(
  terminal: Terminal,
  settings: { answered_calls_days: number | null; idle_snapshots_days: number | null },
): string {
  const kept = (value: number | null): string =>
    styled(terminal, "bold", value === null ? "forever" : counted(value, "day"));
  return (
    `answered calls   ${kept(settings.answered_calls_days)}  (a retry after that is a new call)\n` +
    `idle snapshots   ${kept(settings.idle_snapshots_days)}  (afterwards a block takes longer to open)\n` +
    "History itself is kept until it is purged. Applied once a day, or now with `kumiko retention apply`.\n"
  );
}
