import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { commit, encode } from "../../../test/store-contract/support.ts";
import { fcOptions } from "../../../test/support/counts.ts";
import type { StoredCommit } from "../../kernel/ports.ts";
import { decodeSegment, encodeSegment } from "./segment-codec.ts";

const A = "main~ann~1";

/** Bodies that begin alike, differ little, or not at all, or have nothing in common. */
const body = fc.oneof(
  fc.uint8Array({ maxLength: 100 }),
  fc
    .tuple(fc.constantFrom(0, 3, 40, 70), fc.nat(255), fc.uint8Array({ maxLength: 20 }))
    .map(([same, number, rest]) => Uint8Array.of(...new Uint8Array(same), number, ...rest)),
  fc.nat(400).map((length) => new Uint8Array(length).fill(length)),
);
const optional = fc.option(fc.string({ unit: "grapheme", maxLength: 5 }), { nil: undefined });

describe("a segment", () => {
  it("gives back what was put in, whatever the bodies", () => {
    const one = fc.record({
      body,
      message: optional,
      call: optional,
      tool: fc.constantFrom(undefined, "block_edit", "block_append"),
      actor: fc.constantFrom("ann", "bob"),
      time: fc.integer({ min: -(2 ** 50), max: 2 ** 50 }),
      gap: fc.integer({ min: 1, max: 1000 }),
    });
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 60 }), fc.nat(9), (all, first) => {
        let position = 0;
        const commits = all.map(({ gap, ...more }, index) =>
          stored({ ...more, version: first + 1 + index, position: (position += gap) }),
        );
        expect(decodeSegment(A, encodeSegment(commits))).toEqual(commits);
      }),
      fcOptions(1000),
    );
  });

  it("spends next to nothing on what numbers and names repeat", () => {
    const commits = Array.from({ length: 1000 }, (_, index) =>
      stored({
        version: index + 1,
        position: 5 + index * 3,
        time: 1_700_000_000_000 + index * 50,
        body: encode(`a long beginning that is always the same ${String(index).padStart(5, "0")}`),
      }),
    );
    expect(encodeSegment(commits).length).toBeLessThan(1000);
  });
});

function stored(more: Partial<StoredCommit>): StoredCommit {
  const { expectedVersion, ...rest } = commit(A, 0);
  const nothing = { call: undefined, message: undefined, model: undefined, turn: undefined };
  return { ...nothing, ...rest, version: expectedVersion + 1, position: 1, ...more };
}
