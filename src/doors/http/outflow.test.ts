import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fcOptions } from "../../../test/support/counts.ts";
import { Outflow } from "./outflow.ts";
import { TextFrame } from "./text-frame.ts";

/** A socket whose peer reads when it is told to. */
class SlowSocket {
  readyState = 1 as const;
  readonly taken: string[] = [];
  #held: { frame: string; sent: ((error?: Error) => void) | undefined }[] = [];

  get bufferedAmount(): number {
    return this.#held.reduce((sum, { frame }) => sum + frame.length, 0);
  }

  send(frame: unknown, sent?: unknown): void {
    this.#held.push({ frame: frame as string, sent: sent as (error?: Error) => void });
  }

  /** The wire below it. */
  write(frame: Buffer, sent?: unknown): boolean {
    this.send(frame.toString("latin1"), sent);
    return true;
  }

  read(frames: number): void {
    for (const { frame, sent } of this.#held.splice(0, frames)) {
      this.taken.push(frame);
      sent?.();
    }
  }
}

interface Watched {
  readonly socket: SlowSocket;
  readonly outflow: Outflow;
  readonly heard: string[];
}

function watched(limits: { pause: number; end: number }): Watched {
  const socket = new SlowSocket();
  const heard: string[] = [];
  const outflow = new Outflow(
    socket,
    {
      paused: () => heard.push("paused"),
      resumed: () => heard.push("resumed"),
      overflowed: () => heard.push("overflowed"),
    },
    limits,
    socket,
  );
  return { socket, outflow, heard };
}

describe("what goes out", () => {
  test("waits when the peer does not read, and goes on in order when it does", () => {
    const { socket, outflow, heard } = watched({ pause: 10, end: 100 });
    for (const frame of ["aaaa", "bbbb", "cccc", "dddd"]) outflow.send(frame);
    expect([outflow.paused, socket.bufferedAmount, outflow.pending]).toEqual([true, 12, 16]);
    socket.read(3);
    expect([outflow.paused, outflow.pending, heard]).toEqual([false, 4, ["paused", "resumed"]]);
    socket.read(1);
    expect(socket.taken).toEqual(["aaaa", "bbbb", "cccc", "dddd"]);
  });

  test("counts frames for many as any other, which go on the wire between them", () => {
    const { socket, outflow, heard } = watched({ pause: 12, end: 100 });
    const shared = new TextFrame("bbbb");
    for (const frame of ["aaaa", shared, shared, "dddd", shared]) outflow.send(frame);
    expect([outflow.paused, socket.bufferedAmount, outflow.pending]).toEqual([true, 16, 26]);
    socket.read(5);
    expect([outflow.paused, heard]).toEqual([false, ["paused", "resumed"]]);
    socket.read(2);
    const whole = "\u{81}\u{4}bbbb";
    expect(socket.taken).toEqual(["aaaa", whole, whole, "dddd", whole]);
  });

  test("is given up when too much waits, and nothing is sent any more", () => {
    const { socket, outflow, heard } = watched({ pause: 10, end: 40 });
    for (let count = 0; count < 20; count++) outflow.send("1234");
    expect(heard).toEqual(["paused", "overflowed"]);
    expect(outflow.pending).toBe(12);
    socket.read(20);
    expect(socket.taken).toHaveLength(3);
  });

  test("a frame that is longer than all limits goes when nothing else waits", () => {
    const { socket, outflow } = watched({ pause: 10, end: 1000 });
    outflow.send("x".repeat(500));
    outflow.send("y");
    socket.read(1);
    socket.read(1);
    expect(socket.taken.map((frame) => frame.length)).toEqual([500, 1]);
  });

  test("nothing is lost, doubled or out of order, and no more than the limit is held", () => {
    const step = fc.oneof(
      fc.record({ send: fc.integer({ min: 1, max: 30 }) }),
      fc.record({ read: fc.integer({ min: 1, max: 5 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const { socket, outflow, heard } = watched({ pause: 50, end: 200 });
        const sent: string[] = [];
        let number = 0;
        for (const each of steps) {
          if ("send" in each) {
            if (heard.includes("overflowed")) continue;
            const frame = `${number++}`.padEnd(each.send, ".");
            outflow.send(frame);
            if (!heard.includes("overflowed")) sent.push(frame);
          } else {
            socket.read(each.read);
          }
          expect(outflow.pending).toBeLessThanOrEqual(200 + 30);
          if (!heard.includes("overflowed")) expect(outflow.paused).toBe(heard.at(-1) === "paused");
        }
        for (let left = 0; left < 100; left++) socket.read(10);
        expect(socket.taken).toEqual(sent.slice(0, socket.taken.length));
        if (!heard.includes("overflowed")) expect(socket.taken).toEqual(sent);
      }),
      fcOptions(1000),
    );
  });
});
