import fc from "fast-check";
import { expect, test } from "vitest";
import { KumikoError } from "../src/base/index.ts";
import {
  type ClientFrame,
  decodeClientFrame,
  decodeServerFrame,
  encodeClientFrame,
  encodeServerFrame,
  replicaLimits,
  type ServerFrame,
} from "../src/protocol/index.ts";
import { anyText } from "./support/arbitrary-text.ts";
import { fcOptions } from "./support/counts.ts";
import { refusalCode } from "./support/refusal.ts";

const peer = fc.bigInt({ min: 2n, max: 2n ** 64n - 2n }).map(String);
const count = fc.nat(2 ** 31 - 1);
const bytes = fc.uint8Array({ maxLength: 200 });
const name = anyText(12);
const named = anyText(12).filter((text) => text !== "");
const kind = <Kind extends string>(value: Kind): fc.Arbitrary<Kind> => fc.constant(value);

const clientFrame: fc.Arbitrary<ClientFrame> = fc.oneof(
  fc.record({
    kind: kind("hello"),
    version: count,
    kernel: name,
    instance: name,
    resume: fc.option(fc.record({ peer, secret: name }), { nil: undefined }),
  }),
  fc.record({
    kind: kind("open"),
    block: name,
    known: fc.option(
      fc.record({
        generation: count,
        counters: fc.array(fc.tuple(peer, count)).map((entries) => new Map(entries)),
      }),
      { nil: undefined },
    ),
  }),
  fc.record({
    kind: kind("push"),
    block: name,
    counter: count,
    live: fc.boolean(),
    update: bytes,
    typed: fc.option(
      fc.record({
        after: fc.array(fc.record({ peer, counter: count }), { maxLength: replicaLimits.after }),
        at: count,
        text: name,
      }),
      { nil: undefined },
    ),
  }),
  fc.record({ kind: kind("close"), block: name }),
  fc.record({ kind: kind("presence"), json: name }),
);

const splice = fc.record({ at: count, remove: count, insert: name });
const serverFrame: fc.Arbitrary<ServerFrame> = fc.oneof(
  fc.record({ kind: kind("grant"), version: count, peer, secret: name, presence: name }),
  fc.record({
    kind: kind("opened"),
    block: name,
    blockVersion: count,
    generation: count,
    whole: fc.boolean(),
    counter: count,
    length: count,
  }),
  fc.record({ kind: kind("part"), block: name, bytes }),
  fc.record({ kind: kind("accepted"), block: name, peer, counter: count, blockVersion: count }),
  fc.record({
    kind: kind("refused"),
    block: fc.option(named, { nil: undefined }),
    code: fc.constantFrom("import_rejected", "denied"),
    message: name,
    facts: fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.oneof(name, count, fc.boolean())),
    remedy: fc.constantFrom("reload", "retry", "stop"),
  }) as fc.Arbitrary<ServerFrame>,
  fc.record({
    kind: kind("update"),
    block: name,
    fromVersion: count,
    toVersion: count,
    updates: fc.array(fc.record({ peer: fc.option(peer, { nil: undefined }), bytes })),
    changes: fc.array(fc.record({ actor: name, edit: name, splices: fc.array(splice) })),
  }),
  fc.record({ kind: kind("resync"), block: name, why: name }),
  fc.record({ kind: kind("presence"), json: name }),
);

test("frames of both directions come back as they were", () => {
  fc.assert(
    fc.property(clientFrame, (frame) => {
      expect(decodeClientFrame(encodeClientFrame(frame))).toEqual(frame);
    }),
    fcOptions(2_000),
  );
  fc.assert(
    fc.property(serverFrame, (frame) => {
      expect(decodeServerFrame(encodeServerFrame(frame))).toEqual(frame);
    }),
    fcOptions(2_000),
  );
});

test("whatever bytes come, they are a frame or one of two refusals", () => {
  const changed = fc
    .tuple(
      fc.oneof(clientFrame.map(encodeClientFrame), serverFrame.map(encodeServerFrame), bytes),
      fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 4 }),
      fc.nat(400),
    )
    .map(([frame, changes, cut]) => {
      const made = frame.slice(0, cut === 0 ? undefined : Math.max(1, frame.length - (cut % 7)));
      for (const [at, byte] of changes) if (made.length > 0) made[at % made.length] = byte;
      return made;
    });
  fc.assert(
    fc.property(changed, (frame) => {
      for (const decode of [decodeClientFrame, decodeServerFrame]) {
        try {
          decode(frame);
        } catch (error) {
          expect(error).toBeInstanceOf(KumikoError);
          expect(["frame_malformed", "too_large"]).toContain((error as KumikoError).code);
        }
      }
    }),
    fcOptions(5_000),
  );
});

test("what is too large is refused before it is looked at", () => {
  const push = (size: number): Uint8Array =>
    encodeClientFrame({
      kind: "push",
      block: "b",
      counter: 0,
      live: true,
      update: new Uint8Array(size),
      typed: undefined,
    });
  expect(refusalCode(() => decodeClientFrame(push(replicaLimits.update)))).toBeUndefined();
  expect(refusalCode(() => decodeClientFrame(push(replicaLimits.update + 1)))).toBe("too_large");
  expect(refusalCode(() => decodeClientFrame(new Uint8Array(replicaLimits.frame + 1)))).toBe(
    "too_large",
  );
  const long = encodeClientFrame({ kind: "close", block: "b".repeat(replicaLimits.name + 1) });
  expect(refusalCode(() => decodeClientFrame(long))).toBe("too_large");
  const json = encodeClientFrame({
    kind: "presence",
    json: "x".repeat(replicaLimits.presence + 1),
  });
  expect(refusalCode(() => decodeClientFrame(json))).toBe("too_large");
});
