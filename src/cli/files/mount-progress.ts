import type { FeedMessage, Notice } from "../../protocol/index.ts";
import type { OpenKernel } from "../home/access.ts";
import type { Terminal } from "../terminal.ts";

type Progress = Notice<"progress">;

/** Milliseconds after which a person who waits wants to know how far it is. */
const QUIET = 1_000;
const EVERY = 100;
const BAR = 20;

/** Shows how far a server is with what it is asked for. Without a server nothing is counted, and nothing takes long. */
export async function showingProgress<Result>(
  terminal: Terminal,
  json: boolean,
  kernel: OpenKernel,
  work: () => Promise<Result>,
): Promise<Result> {
  if (json || terminal.progress === undefined || kernel.server === undefined) return work();
  return drawing(terminal, async (take) => {
    const heard = (message: FeedMessage): void => {
      if (message.kind !== "live") return;
      for (const { notice } of message.events) if ("task" in notice) take(notice);
    };
    using listening = new DisposableStack();
    listening.use(await kernel.ask((each) => each.feed(heard, { topics: ["progress"] })));
    return await work();
  });
}

/** A line that moves and counts, where a person watches and it takes a while. */
export async function drawing<Result>(
  { progress }: Terminal,
  work: (take: (notice: Progress) => void) => Promise<Result>,
): Promise<Result> {
  let files = 0;
  let total: number | undefined;
  const begun = performance.now();
  let shown = 0;
  const show = (): void => {
    if (performance.now() - begun < QUIET) return;
    void progress?.(`${bar(shown++, files, total)} ${counted(files, total)} files looked at`);
  };
  const timer = setInterval(show, EVERY);
  try {
    return await work((notice) => ({ done: files, total = total } = notice));
  } finally {
    clearInterval(timer);
    if (shown > 0) await progress?.("");
  }
}

function counted(files: number, total: number | undefined): string {
  const done = files.toLocaleString("en-US");
  return total === undefined ? done : `${done} of ${total.toLocaleString("en-US")}`;
}

/** As long as nobody has counted how many there are, it goes to and fro. */
function bar(step: number, files: number, total: number | undefined): string {
  if (total !== undefined) {
    const full = Math.floor((BAR * Math.min(files, total)) / Math.max(1, total));
    return `[${"=".repeat(full)}${" ".repeat(BAR - full)}]`;
  }
  const way = BAR - 3;
  const at = Math.abs((step % (2 * way)) - way);
  return `[${" ".repeat(at)}===${" ".repeat(way - at)}]`;
}
