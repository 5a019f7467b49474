import { LoroDoc, LoroMap, LoroText, type PeerID } from "loro-crdt";
import { resealed } from "./xxhash32.ts";

/** What an attacker has: a copy of the block, its peer, and what others do. */
export interface Target {
  readonly snapshot: Uint8Array;
  readonly peer: string;
  /** The number that the peer's next operation has. */
  readonly counter: number;
  /** Other peers that are known here. */
  readonly others: readonly string[];
  /** An update of this peer that was accepted before. */
  readonly accepted: Uint8Array;
}

export interface Hostile {
  readonly name: string;
  /** What is claimed of the first number, when it is not the next one. */
  readonly counter?: (target: Target) => number;
  readonly bytes: (target: Target) => Uint8Array;
  /** Whether it does no harm and may be taken. */
  readonly harmless?: boolean;
  /** Whether it ends the worker. */
  readonly traps?: boolean;
}

const HEADER = 22;
const MODE = 21;

function copyOf({ snapshot }: Target, peer: string): LoroDoc {
  const doc = new LoroDoc();
  doc.import(snapshot);
  doc.setPeerId(peer as PeerID);
  return doc;
}

/** Of several kinds: a source of mutations. */
export function manyOperations(target: Target): Uint8Array {
  return done(target, (doc) => {
    const text = doc.getText("text");
    for (let i = 0; i < 20; i++) {
      text.insert(i, "ab");
      text.delete(0, 1);
    }
    text.mark({ start: 0, end: 3 }, "bold", true);
    doc.getMap("map").set("k", { a: [1, 2, "x", null, true, 1.5] });
    doc.getList("list").insert(0, "x");
    doc.getTree("tree").createNode().createNode();
    doc.getMovableList("movable").insert(0, 1);
    doc.getMovableList("movable").set(0, 2);
  });
}

/** What someone does in a copy, as an update. */
function done(
  target: Target,
  run: (doc: LoroDoc) => void,
  options: { peer?: string; mode?: "snapshot" | "update" } = {},
): Uint8Array {
  const doc = copyOf(target, options.peer ?? target.peer);
  const from = doc.version();
  run(doc);
  doc.commit();
  const bytes =
    options.mode === "snapshot"
      ? doc.export({ mode: "snapshot" })
      : doc.export({ mode: "update", from });
  doc.free();
  return bytes;
}

const typed = (target: Target, text = "hostile"): Uint8Array =>
  done(target, (doc) => doc.getText("text").insert(0, text));

interface JsonChange {
  id: string;
  timestamp: number;
  deps: string[];
  lamport: number;
  msg: string | null;
  ops: { container: string; content: Record<string, unknown>; counter: number }[];
}

/** An honest update whose operations are changed before they become bytes again. */
function edited(target: Target, change: (json: JsonChange[]) => void): Uint8Array {
  const author = copyOf(target, target.peer);
  const from = author.version();
  const text = author.getText("text");
  text.insert(0, "abc");
  text.delete(1, 1);
  text.insert(1, "d");
  author.commit();
  const json = author.exportJsonUpdates(from, undefined, false) as unknown as {
    changes: JsonChange[];
  };
  author.free();
  change(json.changes);
  const forger = copyOf(target, "4242");
  try {
    forger.importJsonUpdates(json as never);
  } catch {
    // Its state is broken; its operations are what is wanted.
  }
  const spans = json.changes.map(({ id, ops }) => {
    const [counter, peer] = id.split("@") as [string, PeerID];
    return { id: { peer, counter: Number(counter) }, len: ops.length + 8 };
  });
  return forger.export({ mode: "updates-in-range", spans });
}

function withMode(bytes: Uint8Array, mode: number): Uint8Array {
  return resealed(bytes.with(MODE, mode));
}

/** A number that asks for as much as there is, in place of what stood there. */
function withHugeNumber(bytes: Uint8Array, at: number): Uint8Array {
  const changed = bytes.slice();
  for (const [index, byte] of [0xff, 0xff, 0xff, 0xff, 0x0f].entries()) {
    if (at + index < changed.length) changed[at + index] = byte;
  }
  return resealed(changed);
}

function nested(doc: LoroDoc, depth: number): void {
  let map = doc.getMap("deep");
  for (let i = 0; i < depth; i++) map = map.setContainer("a", new LoroMap());
}

/** Found by chance: with these Loro 1.17.1 ends in the middle of WebAssembly. */
const traps = [
  "bG9ybwAAAAAAAAAAAAAAALSSzfIABEoAAxEDARsC/////w8kAAABAAAAAAAAAAEB/////w8AAAAFAQAAAQAGAQQBAgAABQR0ZXh0AA4BBAIBAAIBAAIBBQIBAwAEA3h5eg==",
  "bG9ybwAAAAAAAAAAAAAAACEaiSMABEoAAxEDARsCTQAAAAAAAAApAOkAAAAAAAABAf////8PAAAABQEAAAEABgEE7QIAAAUEdGV4dAAOAQQCAQACAQACAQUCAQMABAN4eXo=",
  "bG9ybwAAAAAAAAAAAAAAAF5iE3sABLoBAAkRCQEbAk0AAAAAAAAAAQAAAAAAAAABAf////8PAAAABQEAAAEAGgUEAQAABgQBAQAIBAECAAoEAQMADAQBBAAOFwFrAWEEYm9sZAFtAWwEdGV4dAF0Am1sCQECAgEAAwEBgB8BBAoBAAYCCQACAAMAAhIACwQLAQUEEAcLDwwAAhIBADQIAQEHBgMBAwIFAXgAAQQ/+AAAAAAAAAcBBQF4AXEAAwABAAQAAAADBwEDAQAWAwKEAwIB",
  "bG9ybwAAAAAAAAAAAAAAAIduBekABEoAAxEDARsCTQAAAAAAAAABNgAAAAAAAAABAf////8PAAAABQEAAAEABgEEAQIAAAUEdGV4VAAOAQQCAQACAQACAQUCAQMABAN4eXo=",
  "bG9ybwAAAAAAAAAAAAAAAIxTWU0ABEoAAxEDARoCTQAAAAAAAAABAAAAAAAAAAABAf////8PAAAFAQAAAQAGAQQBAgAABQR0ZXh0AA4BBAIBAAIBAAIBBQIBAwAE/////w==",
];

export const hostileUpdates: readonly Hostile[] = [
  { name: "nothing", bytes: () => new Uint8Array() },
  { name: "one byte", bytes: () => new Uint8Array([0]) },
  { name: "no Loro at all", bytes: () => Buffer.from(JSON.stringify({ changes: [] }).repeat(20)) },
  { name: "a header and nothing else", bytes: (t) => resealed(typed(t).slice(0, HEADER)) },
  { name: "a header with one byte", bytes: (t) => resealed(typed(t).slice(0, HEADER + 1)) },
  { name: "half of an update", bytes: (t) => typed(t).slice(0, 60) },
  { name: "half of an update, sealed", bytes: (t) => resealed(typed(t).slice(0, 60)) },
  {
    name: "more than an update, sealed",
    bytes: (t) => resealed(Buffer.concat([typed(t), Buffer.alloc(500, 7)])),
    harmless: true,
  },
  {
    name: "two updates in one, sealed",
    bytes: (t) => resealed(Buffer.concat([typed(t), typed(t, "x").subarray(HEADER)])),
    harmless: true,
  },
  { name: "a wrong checksum", bytes: (t) => typed(t).with(17, 1) },
  {
    name: "zeros, sealed",
    bytes: (t) => resealed(Buffer.concat([typed(t).subarray(0, HEADER), Buffer.alloc(4096)])),
  },
  {
    name: "ones, sealed",
    bytes: (t) => resealed(Buffer.concat([typed(t).subarray(0, HEADER), Buffer.alloc(4096, 0xff)])),
  },
  {
    name: "a snapshot",
    bytes: (t) => done(t, (doc) => doc.getText("text").insert(0, "x"), { mode: "snapshot" }),
  },
  {
    name: "a shallow snapshot",
    bytes: (t) => {
      const doc = copyOf(t, t.peer);
      doc.getText("text").insert(0, "x");
      doc.commit();
      return doc.export({ mode: "shallow-snapshot", frontiers: doc.frontiers() });
    },
  },
  {
    name: "a snapshot that says it is an update",
    bytes: (t) =>
      withMode(
        done(t, (doc) => doc.getText("text").insert(0, "x"), { mode: "snapshot" }),
        4,
      ),
  },
  ...[0, 1, 2, 3, 5, 77, 255].map((mode) => ({
    name: `an update of mode ${mode}`,
    bytes: (t: Target) => withMode(typed(t), mode),
  })),
  // Other containers
  { name: "a map", bytes: (t) => done(t, (doc) => doc.getMap("map").set("a", 1)) },
  { name: "a list", bytes: (t) => done(t, (doc) => doc.getList("list").insert(0, "a")) },
  {
    name: "a movable list",
    bytes: (t) => done(t, (doc) => doc.getMovableList("list").insert(0, "a")),
  },
  { name: "a tree", bytes: (t) => done(t, (doc) => void doc.getTree("tree").createNode()) },
  { name: "a counter", bytes: (t) => done(t, (doc) => doc.getCounter("counter").increment(1)) },
  { name: "another text", bytes: (t) => done(t, (doc) => doc.getText("other").insert(0, "x")) },
  {
    name: "the text and a map",
    bytes: (t) =>
      done(t, (doc) => {
        doc.getText("text").insert(0, "x");
        doc.getMap("map").set("a", 1);
      }),
  },
  {
    name: "a text inside a map",
    bytes: (t) =>
      done(t, (doc) => doc.getMap("map").setContainer("text", new LoroText()).insert(0, "x")),
  },
  {
    name: "marks of rich text",
    bytes: (t) => done(t, (doc) => doc.getText("text").mark({ start: 0, end: 2 }, "bold", true)),
  },
  {
    name: "marks that are taken away",
    bytes: (t) =>
      done(t, (doc) => {
        doc.getText("text").mark({ start: 0, end: 2 }, "bold", true);
        doc.getText("text").unmark({ start: 0, end: 1 }, "bold");
      }),
  },
  { name: "maps nested 500 deep", bytes: (t) => done(t, (doc) => nested(doc, 500)) },
  { name: "maps nested 4,000 deep", bytes: (t) => done(t, (doc) => nested(doc, 4_000)) },
  // Other peers
  {
    name: "a peer of its own choosing",
    bytes: (t) => done(t, (doc) => doc.getText("text").insert(0, "x"), { peer: "31337" }),
  },
  {
    name: "the peer of births",
    bytes: (t) => done(t, (doc) => doc.getText("text").insert(0, "x"), { peer: "1" }),
  },
  {
    name: "somebody else's peer",
    bytes: (t) => done(t, (doc) => doc.getText("text").insert(0, "x"), { peer: t.others[0]! }),
  },
  {
    name: "its own peer and another's",
    bytes: (t) => {
      const doc = copyOf(t, t.peer);
      const from = doc.version();
      doc.getText("text").insert(0, "x");
      doc.commit();
      doc.setPeerId("31337");
      doc.getText("text").insert(0, "y");
      doc.commit();
      return doc.export({ mode: "update", from });
    },
  },
  { name: "what was accepted before", bytes: (t) => t.accepted },
  {
    name: "what was accepted before, under its old number",
    bytes: (t) => t.accepted,
    counter: () => 0,
  },
  {
    name: "other operations under numbers that are taken",
    bytes: () => {
      const doc = new LoroDoc();
      doc.setPeerId("1");
      doc.getText("text").insert(0, "another beginning");
      doc.commit();
      return doc.export({ mode: "update" });
    },
  },
  // Numbers
  { name: "a number that is too high", bytes: typed, counter: (t) => t.counter + 1 },
  { name: "a number far too high", bytes: typed, counter: () => 2 ** 40 },
  {
    name: "a gap",
    bytes: (t) => {
      const doc = copyOf(t, t.peer);
      doc.getText("text").insert(0, "abcdef");
      doc.commit();
      const id = { peer: t.peer as PeerID, counter: t.counter + 2 };
      return doc.export({ mode: "updates-in-range", spans: [{ id, len: 4 }] });
    },
  },
  {
    name: "operations on top of some that nobody has",
    bytes: (t) => {
      const doc = copyOf(t, "5555");
      doc.getText("text").insert(0, "secret");
      doc.commit();
      doc.setPeerId(t.peer as PeerID);
      const from = doc.version();
      doc.getText("text").insert(0, "x");
      doc.commit();
      return doc.export({ mode: "update", from });
    },
  },
  {
    name: "a text without a beginning",
    harmless: true,
    bytes: (t) => {
      const doc = new LoroDoc();
      doc.setPeerId(t.peer as PeerID);
      doc.getText("text").insert(0, "x".repeat(t.counter + 1));
      doc.commit();
      const id = { peer: t.peer as PeerID, counter: t.counter };
      return doc.export({ mode: "updates-in-range", spans: [{ id, len: 1 }] });
    },
  },
  {
    name: "a branch from long ago",
    bytes: (t) => edited(t, (json) => json.forEach((change) => (change.deps = ["0@1"]))),
  },
  {
    name: "operations that rest on nothing",
    bytes: (t) => edited(t, (json) => json.forEach((change) => (change.deps = []))),
  },
  {
    name: "operations that rest on themselves",
    bytes: (t) => edited(t, (json) => json.forEach((change) => (change.deps = [change.id]))),
  },
  {
    name: "a clock at its end",
    bytes: (t) => edited(t, (json) => json.forEach((change) => (change.lamport = 0xffffffff))),
    harmless: true,
  },
  {
    name: "a clock near its end",
    bytes: (t) => edited(t, (json) => json.forEach((change) => (change.lamport = 0xfffffff0))),
    harmless: true,
  },
  {
    name: "a clock that stands",
    bytes: (t) => edited(t, (json) => json.forEach((change) => (change.lamport = 0))),
    harmless: true,
  },
  {
    name: "a time before all times",
    bytes: (t) => edited(t, (json) => json.forEach((change) => (change.timestamp = -1e12))),
    harmless: true,
  },
  {
    name: "a message",
    bytes: (t) => edited(t, (json) => json.forEach((change) => (change.msg = "x".repeat(10_000)))),
  },
  {
    name: "an insertion behind the end",
    bytes: (t) => edited(t, (json) => (json[0]!.ops[0]!.content["pos"] = 100_000)),
  },
  {
    name: "a deletion behind the end",
    bytes: (t) => edited(t, (json) => (json[0]!.ops[1]!.content["pos"] = 100_000)),
  },
  {
    name: "a deletion of what nobody wrote",
    bytes: (t) => edited(t, (json) => (json[0]!.ops[1]!.content["start_id"] = "7@99999")),
  },
  {
    name: "a deletion of what is not written yet",
    bytes: (t) => edited(t, (json) => (json[0]!.ops[1]!.content["start_id"] = `900@${t.peer}`)),
  },
  {
    name: "a deletion under another's name",
    bytes: (t) => edited(t, (json) => (json[0]!.ops[1]!.content["start_id"] = "0@1")),
    harmless: true,
  },
  // Sizes
  { name: "twenty million characters", bytes: (t) => typed(t, "a".repeat(20_000_000)) },
  { name: "three million characters", bytes: (t) => typed(t, "a".repeat(3_000_000)) },
  {
    name: "too many places",
    bytes: (t) =>
      done(t, (doc) => {
        const text = doc.getText("text");
        for (let i = 0; i < 120_000; i++) text.insert(i % 2 === 0 ? 0 : 5, "b");
      }),
  },
  // Text
  {
    name: "half of a surrogate pair",
    bytes: (t) => {
      const bytes = typed(t, "xxx");
      const at = Buffer.from(bytes).lastIndexOf("xxx");
      return resealed(
        bytes.map((byte, i) => (i < at || i > at + 2 ? byte : [0xed, 0xa0, 0x80][i - at]!)),
      );
    },
  },
  {
    name: "bytes that are no UTF-8",
    bytes: (t) => {
      const bytes = typed(t, "xxx");
      const at = Buffer.from(bytes).lastIndexOf("xxx");
      return resealed(bytes.map((byte, i) => (i < at || i > at + 2 ? byte : 0xff)));
    },
  },
  ...traps.map((bytes, i) => ({
    name: `one that traps, ${i}`,
    bytes: () => Buffer.from(bytes, "base64"),
    traps: true,
  })),
  // Numbers that ask for memory
  ...Array.from({ length: 24 }, (_, i) => ({
    name: `a huge number at ${HEADER + 3 * i}`,
    bytes: (t: Target) => withHugeNumber(typed(t), HEADER + 3 * i),
    harmless: true,
  })),
];
