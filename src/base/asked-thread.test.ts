import { EventEmitter } from "node:events";
import { describe, expect, test } from "vitest";
import { AskedThread, answerQuestions } from "./asked-thread.ts";
import type { WorkerLike } from "./worker-thread.ts";

/** Both sides of a thread in one, with the messages in between delivered one by one. */
class FakeThread implements WorkerLike {
  readonly #near = new EventEmitter();
  readonly #far = new EventEmitter();
  isReferenced = true;
  isClosed = false;

  constructor(answer: (question: unknown) => unknown) {
    const port = {
      on: (event: "message", listener: (message: never) => void) =>
        this.#far.on(event, listener as (message: unknown) => void),
      postMessage: (message: unknown) => queueMicrotask(() => this.#near.emit("message", message)),
      close: () => this.end("closed"),
    };
    answerQuestions(port, answer, () => (this.isClosed = true));
  }

  postMessage(message: unknown): void {
    queueMicrotask(() => this.#far.emit("message", message));
  }

  on(event: string, listener: (value: unknown) => void): void {
    this.#near.on(event, listener);
  }

  end(why: string): void {
    this.#far.removeAllListeners();
    this.#near.emit("exit", why);
  }

  ref(): void {
    this.isReferenced = true;
  }

  unref(): void {
    this.isReferenced = false;
  }

  async terminate(): Promise<void> {
    this.end("terminated");
  }
}

function workshop(answer: (question: unknown) => unknown) {
  const started: FakeThread[] = [];
  const timers: { run: () => void; cancelled: boolean }[] = [];
  const thread = new AskedThread(
    () => {
      const fake = new FakeThread(answer);
      started.push(fake);
      return fake;
    },
    {
      after: (_, run) => {
        const timer = { run, cancelled: false };
        timers.push(timer);
        return { cancel: () => void (timer.cancelled = true) };
      },
    },
    () => 1,
  );
  const pass = (): void => {
    for (const timer of timers.splice(0)) if (!timer.cancelled) timer.run();
  };
  return { thread, started, pass };
}

describe("a thread that is asked", () => {
  test("starts with the first question and answers in order, also what takes a while", async () => {
    const order: unknown[] = [];
    const { thread, started } = workshop(async (question) => {
      if (question === 1) await Promise.resolve().then(() => Promise.resolve());
      order.push(question);
      return Number(question) * 2;
    });
    expect(started).toHaveLength(0);
    expect(await Promise.all([1, 2, 3].map((each) => thread.ask(each)))).toEqual([2, 4, 6]);
    expect(order).toEqual([1, 2, 3]);
    expect(started).toHaveLength(1);
    expect(started[0]!.isReferenced).toBe(false);
    await thread[Symbol.asyncDispose]();
    expect(started[0]!.isClosed).toBe(true);
    await expect(thread.ask(4)).rejects.toMatchObject({ code: "search_failed" });
  });

  test("tells who asked what went wrong, and goes on", async () => {
    const { thread } = workshop((question) => {
      if (question === "bad") throw new Error("no such thing");
      return question;
    });
    await expect(thread.ask("bad")).rejects.toMatchObject({
      code: "search_failed",
      facts: { why: "no such thing" },
    });
    expect(await thread.ask("good")).toBe("good");
    await thread[Symbol.asyncDispose]();
  });

  test("that dies fails what it was asked; the next question starts another", async () => {
    let dead = true;
    const { thread, started } = workshop((question) =>
      dead ? Promise.withResolvers().promise : question,
    );
    const lost = thread.ask("lost");
    started[0]!.end("a fault");
    await expect(lost).rejects.toMatchObject({ code: "search_failed" });
    dead = false;
    expect(await thread.ask("kept")).toBe("kept");
    expect(started).toHaveLength(2);
    await thread[Symbol.asyncDispose]();
  });

  test("is given back when nobody asks, and starts again when somebody does", async () => {
    const { thread, started, pass } = workshop((question) => question);
    await thread.ask(1);
    const busy = thread.ask(2);
    pass();
    expect(await busy).toBe(2);
    expect(started).toHaveLength(1);
    pass();
    expect(await thread.ask(3)).toBe(3);
    expect(started.map(({ isClosed }) => isClosed)).toEqual([true, false]);
    await thread[Symbol.asyncDispose]();
    expect(started[1]!.isClosed).toBe(true);
  });
});
