import fc from "fast-check";
import { LoroDoc, type PeerID } from "loro-crdt";
import { describe, expect, test } from "vitest";
import {
  BlockDocument,
  endOf,
  type PeerOperations,
  ReplicaText,
  type Splice,
  type Typing,
} from "../src/blocks/index.ts";
import { vettedOperations } from "../src/doors/replica/vetted-operations.ts";
import { anyText, fittingSplice } from "./support/arbitrary-text.ts";
import { fcOptions } from "./support/counts.ts";
import { documentOf, loaded, stamp, stateOf } from "./support/documents.ts";
import { operationsIn } from "./support/loro-operations.ts";
import { refusal } from "./support/refusal.ts";

const wish = fc.record({ at: fc.nat(80), remove: fc.nat(6), insert: anyText(4) });
const wishes = fc.array(wish, { minLength: 1, maxLength: 4 });

function born(text: string): BlockDocument {
  const document = documentOf(text, "3");
  document.birth(stamp("disk", "birth"));
  return document;
}

function make(text: ReplicaText, all: readonly Splice[]): void {
  for (const each of all) text.edit([fittingSplice(text.toString(), each)]);
}

/** What a replica did from a number on, as the vetting worker would say it. */
function sent(
  document: BlockDocument,
  replica: ReplicaText,
  peer: string,
  from: number,
): PeerOperations | undefined {
  const to = replica.counter;
  if (to === from) return undefined;
  const doc = new LoroDoc();
  doc.import(document.exportSnapshot());
  doc.import(replica.exportOwn(from, to));
  const changes = doc.exportJsonInIdSpan({
    peer: peer as PeerID,
    counter: from,
    length: to - from,
  });
  doc.free();
  return vettedOperations(changes, peer, from);
}

describe("operations of replicas", () => {
  test("MERGE-4, MERGE-6: what is imported as plain data is what bytes would have given", () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("type" as const), wishes }),
      fc.record({ kind: fc.constant("here" as const), wishes }),
      fc.record({ kind: fc.constant("send" as const) }),
      fc.record({ kind: fc.constant("receive" as const) }),
    );
    fc.assert(
      fc.property(anyText(10), fc.array(step, { maxLength: 20, size: "max" }), (text, steps) => {
        using document = born(text);
        using replica = new ReplicaText(document.exportSnapshot(), "77");
        let durable = 0;
        let edits = 0;
        const send = (): void => {
          const operations = sent(document, replica, "77", durable);
          if (operations === undefined) return;
          const before = document.read();
          const checked = document.checkOperations(operations);
          const { splices, pending } = document.importOperations(
            checked,
            stamp("amy", `i${edits++}`),
          );
          expect(pending).toBeUndefined();
          expect(spliced(before, splices)).toBe(document.read());
          durable = endOf(operations);
        };
        const receive = (): void => void replica.import(document.exportMissing(replica.counters()));
        for (const each of steps) {
          if (each.kind === "type") make(replica, each.wishes);
          else if (each.kind === "send") send();
          else if (each.kind === "receive") receive();
          else {
            const [first] = each.wishes;
            document.commit([fittingSplice(document.read(), first!)], stamp("bob", `e${edits++}`));
          }
        }
        send();
        receive();
        expect(replica.toString()).toBe(document.read());
        expect(replica.counters()).toEqual(document.counters());
        // What the record keeps gives the same again.
        using again = loaded({ record: document.save().record }, "3");
        expect(operationsIn([again.exportSince()])).toEqual(operationsIn([document.exportSince()]));
        expect(again.read()).toBe(document.read());
      }),
      fcOptions(500),
    );
  });

  test("MERGE-7: what is typed without merging is what merging would have given", () => {
    const who = fc.nat(1);
    const insertion = fc.record({ at: fc.nat(80), remove: fc.constant(0), insert: anyText(4) });
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ kind: fc.constant("type" as const), who, wish: insertion }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("type" as const), who, wish }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("here" as const), who, wish }) },
      { weight: 5, arbitrary: fc.record({ kind: fc.constant("send" as const), who, wish }) },
      { weight: 4, arbitrary: fc.record({ kind: fc.constant("receive" as const), who, wish }) },
    );
    let typed = 0;
    let merged = 0;
    fc.assert(
      fc.property(anyText(10), fc.array(step, { maxLength: 40, size: "max" }), (text, steps) => {
        using document = born(text);
        using twin = born(text);
        using amy = new ReplicaText(document.exportSnapshot(), "77");
        using ben = new ReplicaText(document.exportSnapshot(), "78");
        const authors = [
          { replica: amy, peer: "77", durable: 0 },
          { replica: ben, peer: "78", durable: 0 },
        ] as const;
        let edits = 0;
        const send = (author: (typeof authors)[number]): void => {
          const { replica, peer, durable } = author;
          const operations = sent(twin, replica, peer, durable);
          if (operations === undefined) return;
          const by = stamp(peer, `i${edits++}`);
          twin.importOperations(twin.checkOperations(operations), by);
          const typing = replica.typing(durable, replica.counter);
          if (typing !== undefined && document.follows(typing)) {
            typed += 1;
            document.type(typing, by);
          } else {
            merged += 1;
            document.importOperations(document.checkOperations(operations), by);
          }
          (author as { durable: number }).durable = endOf(operations);
          expect(document.read()).toBe(twin.read());
        };
        const receive = ({ replica }: (typeof authors)[number]): void =>
          void replica.import(document.exportMissing(replica.counters()));
        for (const each of steps) {
          const author = authors[each.who]!;
          if (each.kind === "type") make(author.replica, [each.wish]);
          else if (each.kind === "send") send(author);
          else if (each.kind === "receive") receive(author);
          else {
            const by = stamp("bob", `e${edits++}`);
            for (const one of [document, twin]) {
              one.commit([fittingSplice(one.read(), each.wish)], by);
            }
          }
        }
        for (const author of authors) send(author);
        for (const author of authors) receive(author);
        for (const { replica } of authors) {
          expect(replica.toString()).toBe(document.read());
          expect(replica.counters()).toEqual(twin.counters());
        }
        const operations = operationsIn([twin.exportSince()]);
        expect(operationsIn([document.exportSince()])).toEqual(operations);
        // What the record keeps gives the same again.
        using again = loaded({ record: document.save().record }, "3");
        expect(operationsIn([again.exportSince()])).toEqual(operations);
        expect(again.read()).toBe(document.read());
      }),
      fcOptions(1_000),
    );
    expect(typed).toBeGreaterThan(merged / 10);
    expect(merged).toBeGreaterThan(typed / 10);
  });

  test("MERGE-7: what was not typed on top of all that is there does not follow", () => {
    using document = born("a\u{1f600}b");
    using replica = new ReplicaText(document.exportSnapshot(), "77");
    replica.edit([{ at: 1, remove: 0, insert: "x" }]);
    const good = replica.typing(0, 1)!;
    expect(document.follows(good)).toBe(true);
    const [last] = good.after;
    const wrong: { readonly [why: string]: Typing } = {
      "another number": { ...good, counter: 1 },
      "on top of nothing": { ...good, after: [] },
      "on top of less": { ...good, after: [{ ...last!, counter: last!.counter - 1 }] },
      "on top of more": { ...good, after: [last!, { peer: "5", counter: 0 }] },
      "outside the text": { ...good, at: 5 },
      "inside a character": { ...good, at: 2 },
      "half a character": { ...good, text: "\ud83d" },
      nothing: { ...good, text: "" },
    };
    for (const [why, typing] of Object.entries(wrong)) {
      expect(document.follows(typing), why).toBe(false);
    }
    document.commit([{ at: 0, remove: 0, insert: "new " }], stamp("bob", "e1"));
    expect(document.follows(good)).toBe(false);
  });

  test("MERGE-4: what does not follow from the document is rejected and changes nothing", () => {
    using document = born("hello world");
    using replica = new ReplicaText(document.exportSnapshot(), "77");
    replica.edit([{ at: 0, remove: 2, insert: "xyz" }]);
    const good = sent(document, replica, "77", 0)!;
    const [change] = good.changes;
    const wrong: { readonly [why: string]: PeerOperations } = {
      "a number too high": { ...good, counter: 1 },
      "no operation": { ...good, changes: [{ ...change!, operations: [] }] },
      "on top of what is not here": {
        ...good,
        changes: [{ ...change!, after: [{ peer: "5", counter: 0 }] }],
      },
      "on top of itself": {
        ...good,
        changes: [{ ...change!, after: [{ peer: "77", counter: 0 }] }],
      },
      "deletes what is not here": {
        ...good,
        changes: [
          {
            ...change!,
            operations: [{ kind: "delete", at: 0, length: 1, first: { peer: "9", counter: 3 } }],
          },
        ],
      },
      "deletes nothing": {
        ...good,
        changes: [
          {
            ...change!,
            operations: [{ kind: "delete", at: 0, length: 0, first: { peer: "1", counter: 3 } }],
          },
        ],
      },
    };
    document.versionVector();
    const before = { state: stateOf(document), bytes: document.exportSince() };
    for (const [why, operations] of Object.entries(wrong)) {
      expect(refusal(() => document.checkOperations(operations)).code, why).toBe("import_rejected");
      expect({ state: stateOf(document), bytes: document.exportSince() }).toEqual(before);
    }
    // A place that is none is found out by Loro alone, and leaves no trace either.
    const nowhere: PeerOperations = {
      ...good,
      changes: [{ ...change!, operations: [{ kind: "insert", at: 5_000, text: "x" }] }],
    };
    const checked = document.checkOperations(nowhere);
    expect(refusal(() => document.importOperations(checked, stamp("amy", "i1"))).code).toBe(
      "import_rejected",
    );
    expect({ state: stateOf(document), bytes: document.exportSince() }).toEqual(before);
    document.importOperations(document.checkOperations(good), stamp("amy", "i2"));
    expect(document.read()).toBe("xyzllo world");
    // Not on top of its own.
    const apart: PeerOperations = {
      peer: "77",
      counter: endOf(good),
      changes: [
        { after: [{ peer: "1", counter: 0 }], operations: [{ kind: "insert", at: 0, text: "x" }] },
      ],
    };
    expect(refusal(() => document.checkOperations(apart)).code).toBe("import_rejected");
  });

  test("MERGE-4: a long insertion is the same operations, whatever it begins with", () => {
    fc.assert(
      fc.property(fc.nat(3), fc.nat(1_100), fc.boolean(), (kind, before, apart) => {
        using document = born("hello world");
        using replica = new ReplicaText(document.exportSnapshot(), "77");
        const long = "é".repeat(before) + ["a", "🦊", "é", "\n"][kind]!.repeat(5_000);
        if (apart) replica.edit([{ at: 3, remove: 2, insert: "" }]);
        replica.edit([{ at: 2, remove: 0, insert: long }]);
        const four = Array.from(replica.toString().slice(1, 20)).slice(0, 4).join("");
        replica.edit([{ at: 1, remove: four.length, insert: "end" }]);
        const operations = sent(document, replica, "77", 0)!;
        document.importOperations(document.checkOperations(operations), stamp("amy", "i1"));
        expect(document.read() === replica.toString()).toBe(true);
        expect(document.counters()).toEqual(replica.counters());
        using again = loaded({ record: document.save().record }, "3");
        replica.edit([{ at: 0, remove: 0, insert: "more" }]);
        const more = sent(document, replica, "77", endOf(operations))!;
        again.importOperations(again.checkOperations(more), stamp("amy", "i2"));
        expect(again.read() === replica.toString()).toBe(true);
      }),
      fcOptions(100),
    );
  });

  test("MERGE-5: what versions wrote is exported without what was committed later", () => {
    fc.assert(
      fc.property(
        anyText(10),
        fc.array(wishes, { minLength: 1, maxLength: 12 }),
        fc.nat(),
        (text, all, cut) => {
          using document = born(text);
          document.follow();
          using replica = new ReplicaText(document.exportSnapshot(), "77");
          const first = document.version;
          const texts = [document.read()];
          for (const [i, each] of all.entries()) {
            for (const [j, one] of each.entries()) {
              const splice = fittingSplice(document.read(), one);
              if (splice.remove === 0 && splice.insert === "") continue;
              document.commit([splice], stamp("bob", `e${i}-${j}`));
              texts.push(document.read());
            }
          }
          const middle = first + (cut % texts.length);
          for (const [from, to] of [
            [first, middle],
            [middle, document.version],
          ] as const) {
            if (from === to) continue;
            const written = document.exportWritten(from, to)!;
            if (written.bytes !== undefined) replica.import(written.bytes);
            expect(replica.toString()).toBe(texts[to - first]);
          }
          expect(document.exportWritten(first, document.version + 1)).toBeUndefined();
        },
      ),
      fcOptions(300),
    );
  });

  test("MERGE-6: an edit of a copy lands whole or not at all", () => {
    using document = born("a🦊b");
    using replica = new ReplicaText(document.exportSnapshot(), "77");
    const tries: Splice[][] = [
      [
        { at: 0, remove: 0, insert: "x" },
        { at: 3, remove: 0, insert: "y" },
      ],
      [
        { at: 0, remove: 1, insert: "" },
        { at: 9, remove: 0, insert: "y" },
      ],
      [
        { at: 0, remove: 0, insert: "x" },
        { at: 0, remove: 0, insert: "\ud800" },
      ],
    ];
    for (const splices of tries) {
      refusal(() => replica.edit(splices));
      expect(replica.toString()).toBe("a🦊b");
      expect(replica.counter).toBe(0);
    }
    const back = replica.edit([
      { at: 0, remove: 1, insert: "zz" },
      { at: 2, remove: 2, insert: "" },
    ]);
    expect(replica.toString()).toBe("zzb");
    replica.edit(back);
    expect(replica.toString()).toBe("a🦊b");
  });
});

function spliced(text: string, splices: readonly Splice[]): string {
  return splices.reduce(
    (now, { at, remove, insert }) => now.slice(0, at) + insert + now.slice(at + remove),
    text,
  );
}
