import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { RpcKernel } from "../../protocol/index.ts";
import { type Access, OpenKernel } from "../home/access.ts";
import type { Terminal } from "../terminal.ts";
import { showingProgress } from "./mount-progress.ts";

beforeEach(
  () => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] }),
);
afterEach(() => void vi.useRealTimers());

/** A server that has looked at so many files, and a terminal somebody watches. */
function setting(
  files: number,
  total: number | undefined,
): { kernel: OpenKernel; terminal: Terminal; shown: string[] } {
  const feed: Pick<RpcKernel, "feed"> = {
    async feed(listener) {
      const counted = { done: files, ...(total !== undefined && { total }) };
      const notice = { task: "t", what: "w", state: "running", ...counted } as const;
      const event = { topic: "progress", sequence: 1, time: 0, notice } as const;
      if (typeof listener === "function") await listener({ kind: "live", events: [event] });
      return { end: () => Promise.resolve({}), [Symbol.dispose]() {} };
    },
  };
  const access: Access = {
    server: "http://127.0.0.1:1",
    lost: new AbortController().signal,
    world: () => Promise.reject(new Error("nobody asks for it")),
    kernel: (_, run) => run(feed as RpcKernel),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const shown: string[] = [];
  const terminal = { progress: (line: string) => Promise.resolve(void shown.push(line)) };
  return { kernel: new OpenKernel(access, "main"), terminal: terminal as Terminal, shown };
}

async function mounting(
  milliseconds: number,
  { json = false, total }: { json?: boolean; total?: number } = {},
): Promise<string[]> {
  const { kernel, terminal, shown } = setting(12_000, total);
  const work = async (): Promise<string> => {
    await vi.advanceTimersByTimeAsync(milliseconds);
    return "mounted";
  };
  expect(await showingProgress(terminal, json, kernel, work)).toBe("mounted");
  await vi.advanceTimersByTimeAsync(5_000);
  return shown;
}

test("a mount that takes more than a second shows how far it is, and then nothing is left", async () => {
  const shown = await mounting(1_500);
  expect(shown.slice(0, 2)).toEqual([
    "[                 ===] 12,000 files looked at",
    "[                === ] 12,000 files looked at",
  ]);
  expect(shown.at(-1)).toBe("");
  expect(shown).toHaveLength(7);
});

test("once it is known how many there are, it shows how much of them is done", async () => {
  const [first] = await mounting(1_500, { total: 48_000 });
  expect(first).toBe("[=====               ] 12,000 of 48,000 files looked at");
});

test("a quick one, and one for a program, show nothing", async () => {
  expect(await mounting(900)).toEqual([]);
  expect(await mounting(1_500, { json: true })).toEqual([]);
});
