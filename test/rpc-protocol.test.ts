import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Random, sha256Text } from "../src/base/index.ts";
import { ContextTarget } from "../src/doors/rpc/context.ts";
import { KernelTarget } from "../src/doors/rpc/kernel.ts";
import { Subscription } from "../src/doors/rpc/subscription.ts";
import { vetMessage } from "../src/doors/rpc/vet-message.ts";
import { WorldTarget } from "../src/doors/rpc/world.ts";
import {
  channelDone,
  channelMessage,
  PROTOCOL_VERSION,
  rpcAnswers,
  rpcInputs,
} from "../src/protocol/index.ts";
import { scaled, seed } from "./support/counts.ts";

/**
 * What each version of the protocol is. When this fails, the schemas have changed: if clients of the last version
 * cannot tell, write the new hash; otherwise raise PROTOCOL_VERSION and add a line.
 */
const hashes: { readonly [version: number]: string } = {
  1: "48edf126ed90ee4fecfecca945773b5693bd6354cef8c478ba9f95335696b09d",
  2: "b642c5b8d2faaf58e3ef1cbe31e619242bccb283bf2b79befd0d7974780e6857",
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

/** Every form that the library evaluates; what is `refused` runs, fetches or streams something. */
const refused = new Set([
  "remap",
  "request",
  "response",
  "headers",
  "url",
  "blob",
  "promise",
  "readable",
  "writable",
  "stream",
  "pipe",
]);

class Forms {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  message(): unknown[] {
    const id = this.#pick([0, 1, 5, -1]);
    return this.#padded(
      this.#pick<() => unknown[]>([
        () => ["push", this.#pick([() => this.#call(), () => this.#value(3)])()],
        () => ["stream", this.#call()],
        () => ["pipe"],
        () => ["pull", id],
        () => ["resolve", id, this.#value(3)],
        () => ["reject", id, this.#value(3)],
        () => ["release", id, this.#pick([0, 1, 2, -1, 0.5])],
        () => ["abort", this.#value(3)],
      ])(),
    );
  }

  #call(): unknown {
    const given = Array.from({ length: this.#random.below(3) }, () => this.#value(2));
    return this.#padded(["pipeline", 0, ["whoami"], given]);
  }

  #value(depth: number): unknown {
    const inner = (): unknown => (depth === 0 ? 1 : this.#value(depth - 1));
    const form = this.#pick<() => unknown>([
      () => 1,
      () => "text",
      () => null,
      () => ({ a: inner(), toJSON: inner() }),
      () => [[inner(), inner()]],
      () => [inner()],
      () => ["undefined"],
      () => ["inf"],
      () => ["nan"],
      () => ["date", this.#pick([1, null, inner()])],
      () => ["bigint", this.#pick(["1", inner()])],
      () => ["bytes", "AAAA", this.#pick(["Uint8Array", inner()])],
      () => ["error", "Error", "text", this.#pick([null, inner()]), { a: inner() }],
      () => ["import", 0],
      () => ["import", 0, ["whoami"], [inner()]],
      () => ["pipeline", 0, [this.#pick(["whoami", inner()])]],
      () => ["pipeline", 0, ["whoami"], [inner()]],
      () => ["export", this.#pick([-1, 4_294_967_294, inner()])],
      () => ["promise", -2],
      () => ["remap", 0, [], [["import", 0]], [inner()]],
      () => ["request", "http://127.0.0.1:1/", { body: inner() }],
      () => ["response", inner(), {}],
      () => ["headers", [["a", "b"]]],
      () => ["url", "http://127.0.0.1:1/"],
      () => ["blob", "text", inner()],
      () => ["readable", 1],
      () => ["writable", -1],
    ])();
    return Array.isArray(form) ? this.#padded(form) : form;
  }

  /** Sometimes with more elements than it has. */
  #padded(form: unknown[]): unknown[] {
    return this.#random.below(8) > 0 ? form : [...form, this.#pick([0, "text", ["undefined"]])];
  }

  #pick<Item>(from: readonly Item[]): Item {
    return from[this.#random.below(from.length)]!;
  }
}

/** The tags of everything that the library would evaluate; a list in a list is one of values. */
function tagsIn(value: unknown, found: string[] = []): string[] {
  if (typeof value !== "object" || value === null) return found;
  let values: unknown[] = Object.values(value);
  if (Array.isArray(value)) {
    const [first, , , given] = value as unknown[];
    const isCall = (first === "pipeline" || first === "import") && Array.isArray(given);
    if (value.length === 1 && Array.isArray(first)) values = first;
    else found.push(isCall ? "call" : String(first));
    if (first === "pipeline" || first === "import") values = isCall ? given : [];
  }
  for (const each of values) tagsIn(each, found);
  return found;
}

describe("messages", () => {
  test("whatever the library would evaluate is refused, or runs, fetches and streams nothing", () => {
    const forms = new Forms(new Random(seed()));
    const taken = new Map<string, number>();
    for (let count = 0; count < scaled(100_000); count++) {
      const message = forms.message();
      try {
        vetMessage(message);
      } catch {
        continue;
      }
      const tags = tagsIn(message);
      expect(
        tags.filter((tag) => refused.has(tag)),
        JSON.stringify(message),
      ).toEqual([]);
      expect(tags.filter((tag) => tag === "call").length).toBe(
        message[0] === "push" && (message[1] as unknown[]).length === 4 ? 1 : 0,
      );
      for (const tag of tags) taken.set(tag, (taken.get(tag) ?? 0) + 1);
    }
    const kinds = ["abort", "call", "pull", "push", "reject", "release", "resolve"];
    const values = ["bigint", "bytes", "date", "error", "export", "import", "inf", "nan"];
    expect([...taken.keys()].toSorted()).toEqual(
      [...kinds, ...values, "pipeline", "undefined"].toSorted(),
    );
  });
});
