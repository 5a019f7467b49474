import { describe, expect, test } from "vitest";
import { z } from "zod";
import { sha256Text } from "../src/base/index.ts";
import { ContextTarget } from "../src/doors/rpc/context.ts";
import { KernelTarget } from "../src/doors/rpc/kernel.ts";
import { Subscription } from "../src/doors/rpc/subscription.ts";
import { WorldTarget } from "../src/doors/rpc/world.ts";
import {
  channelDone,
  channelMessage,
  PROTOCOL_VERSION,
  rpcAnswers,
  rpcInputs,
} from "../src/protocol/index.ts";

/**
 * What each version of the protocol is. When this fails, the schemas have changed: if clients of the last version
 * cannot tell, write the new hash; otherwise raise PROTOCOL_VERSION and add a line.
 */
const hashes: { readonly [version: number]: string } = {
  1: "48edf126ed90ee4fecfecca945773b5693bd6354cef8c478ba9f95335696b09d",
};

const targets = {
  World: WorldTarget,
  Kernel: KernelTarget,
  Context: ContextTarget,
  Subscription,
};

/** What answers with a capability. */
const capabilities = [
  "World.attachKernel",
  "World.createKernel",
  "Kernel.joinContext",
  "Kernel.openContext",
  "Kernel.subscribeBlocks",
  "Kernel.feed",
];

function schemas(): string {
  const described = (all: object, io: "input" | "output"): unknown =>
    Object.fromEntries(
      Object.entries(all).map(([name, value]) => [
        name,
        value instanceof z.ZodType ? z.toJSONSchema(value, { io }) : described(value as object, io),
      ]),
    );
  return JSON.stringify([
    described(rpcInputs, "input"),
    described(rpcAnswers, "output"),
    z.toJSONSchema(channelMessage, { io: "output" }),
    z.toJSONSchema(channelDone, { io: "input" }),
    capabilities,
  ]);
}

describe("the protocol", () => {
  test("does not change without a new version", () => {
    expect(hashes[PROTOCOL_VERSION]).toBe(sha256Text(schemas()));
  });

  for (const name of Object.keys(targets) as (keyof typeof targets)[]) {
    test(`${name} has exactly the methods of its schemas`, () => {
      const callable = Object.getOwnPropertyNames(targets[name].prototype)
        .filter((each) => each !== "constructor")
        .toSorted();
      expect(callable).toEqual(Object.keys(rpcInputs[name]).toSorted());
      const answered = Object.keys(rpcAnswers[name]).map((method) => `${name}.${method}`);
      const given = capabilities.filter((each) => each.startsWith(`${name}.`));
      expect([...answered, ...given].toSorted()).toEqual(
        callable.map((method) => `${name}.${method}`),
      );
    });

    test(`nothing of ${name} can be reached but methods`, () => {
      const { prototype } = targets[name];
      for (const key of Object.getOwnPropertyNames(prototype)) {
        const described = Object.getOwnPropertyDescriptor(prototype, key)!;
        expect([key, typeof described.value]).toEqual([key, "function"]);
      }
    });
  }
});
