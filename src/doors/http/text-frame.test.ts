import type { Writable } from "node:stream";
import * as ws from "ws";
import { expect, test } from "vitest";
import { TextFrame } from "./text-frame.ts";

/** The client's reading end; its types leave it out. */
const { Receiver } = ws as unknown as { Receiver: new (options: object) => Writable };

for (const length of [0, 1, 125, 126, 0xffff, 0x10000, 200_000]) {
  test(`a text of ${length} bytes is read as it was written, whatever comes behind it`, () => {
    const texts = ["x".repeat(length), "ä".repeat(length / 2), "behind"];
    const heard: string[] = [];
    const receiver = new Receiver({ isServer: false, allowSynchronousEvents: true });
    receiver.on("message", (data: Buffer, binary: boolean) => {
      expect(binary).toBe(false);
      heard.push(data.toString("utf8"));
    });
    receiver.end(Buffer.concat(texts.map((text) => new TextFrame(text).bytes)));
    expect(heard).toEqual(texts);
  });
}
