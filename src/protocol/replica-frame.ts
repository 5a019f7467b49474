import { ByteReader, ByteWriter, type Facts, KumikoError, type ErrorCode } from "../base/index.ts";

/** Counts the changes of what these frames mean; both ends say theirs in the first frame. */
export const REPLICA_VERSION = 1;

/** What one frame may carry, in bytes, and a client may say in it. */
export const replicaLimits = {
  frame: 4 * 1024 * 1024,
  /** Of one update that a client sends. */
  update: 1024 * 1024,
  /** Of a snapshot in one frame; the rest of it follows in others. */
  part: 256 * 1024,
  /** Of names and secrets. */
  name: 200,
  presence: 4 * 1024,
  /** Peers in what a client says it holds. */
  peers: 20_000,
} as const;

/** What the one that was refused is to do. */
const remedies = ["reload", "retry", "stop"] as const;
export type Remedy = (typeof remedies)[number];

interface Splice {
  readonly at: number;
  readonly remove: number;
  readonly insert: string;
}

/** From clients. A block stands for its one replica on the connection. */
export type ClientFrame =
  | {
      readonly kind: "hello";
      readonly version: number;
      readonly kernel: string;
      /** The replica instance, so that people can tell one from another. */
      readonly instance: string;
      /** The peer of an earlier connection, which this one goes on with. */
      readonly resume: { readonly peer: string; readonly secret: string } | undefined;
    }
  | {
      readonly kind: "open";
      readonly block: string;
      readonly known:
        | {
            readonly generation: number;
            readonly counters: ReadonlyMap<string, number>;
          }
        | undefined;
    }
  | {
      readonly kind: "push";
      readonly block: string;
      /** The number of its first operation. */
      readonly counter: number;
      /** Just typed, not kept from a time without connection. */
      readonly live: boolean;
      readonly update: Uint8Array;
    }
  | { readonly kind: "close"; readonly block: string }
  | { readonly kind: "presence"; readonly json: string };

/** From the server. */
export type ServerFrame =
  | {
      readonly kind: "grant";
      readonly version: number;
      readonly peer: string;
      readonly secret: string;
      /** Under which everybody, this connection too, is told of its presence. */
      readonly presence: string;
    }
  | {
      readonly kind: "opened";
      readonly block: string;
      readonly blockVersion: number;
      readonly generation: number;
      /** All of it, or only what was missing. */
      readonly whole: boolean;
      /** How many of the connection's own operations are on disk. */
      readonly counter: number;
      /** How many bytes follow in parts. */
      readonly length: number;
    }
  | { readonly kind: "part"; readonly block: string; readonly bytes: Uint8Array }
  | {
      readonly kind: "accepted";
      readonly block: string;
      readonly peer: string;
      /** Up to which it is on disk. */
      readonly counter: number;
      readonly blockVersion: number;
    }
  | {
      readonly kind: "refused";
      /** Undefined: not one block's, the connection ends. */
      readonly block: string | undefined;
      readonly code: ErrorCode;
      readonly message: string;
      readonly facts: Facts;
      readonly remedy: Remedy;
    }
  | {
      readonly kind: "update";
      readonly block: string;
      readonly fromVersion: number;
      readonly toVersion: number;
      readonly updates: readonly {
        readonly peer: string | undefined;
        readonly bytes: Uint8Array;
      }[];
      readonly changes: readonly {
        readonly actor: string;
        readonly edit: string;
        readonly splices: readonly Splice[];
      }[];
    }
  | { readonly kind: "resync"; readonly block: string; readonly why: string }
  | { readonly kind: "presence"; readonly json: string };

const clientKinds = ["hello", "open", "push", "close", "presence"] as const;
const serverKinds = [
  "grant",
  "opened",
  "part",
  "accepted",
  "refused",
  "update",
  "resync",
  "presence",
] as const;

export function encodeClientFrame(frame: ClientFrame): Uint8Array {
  const writer = new ByteWriter();
  writer.byte(clientKinds.indexOf(frame.kind));
  switch (frame.kind) {
    case "hello":
      writer.count(frame.version);
      writer.text(frame.kernel);
      writer.text(frame.instance);
      writer.text(frame.resume?.peer ?? "");
      writer.text(frame.resume?.secret ?? "");
      break;
    case "open":
      writer.text(frame.block);
      writer.count(frame.known === undefined ? 0 : frame.known.generation + 1);
      if (frame.known !== undefined) writeCounters(writer, frame.known.counters);
      break;
    case "push":
      writer.text(frame.block);
      writer.count(frame.counter);
      writer.byte(frame.live ? 1 : 0);
      writer.bytes(frame.update);
      break;
    case "close":
      writer.text(frame.block);
      break;
    case "presence":
      writer.text(frame.json);
      break;
  }
  return writer.finish();
}

export function decodeClientFrame(bytes: Uint8Array): ClientFrame {
  return decoding(bytes, replicaLimits.frame, (reader): ClientFrame => {
    const kind = clientKinds[reader.byte()];
    switch (kind) {
      case "hello": {
        const version = reader.count();
        const kernel = readName(reader);
        const instance = readName(reader);
        const peer = readName(reader);
        const secret = readName(reader);
        const resume = peer === "" ? undefined : { peer: checkPeer(peer), secret };
        return { kind, version, kernel, instance, resume };
      }
      case "open": {
        const block = readName(reader);
        const generation = reader.count();
        if (generation === 0) return { kind, block, known: undefined };
        return {
          kind,
          block,
          known: { generation: generation - 1, counters: readCounters(reader) },
        };
      }
      case "push": {
        const block = readName(reader);
        const counter = reader.count();
        const live = reader.byte() === 1;
        const update = reader.bytes();
        if (update.length > replicaLimits.update) {
          throw tooLarge("An update", update.length, replicaLimits.update);
        }
        return { kind, block, counter, live, update };
      }
      case "close":
        return { kind, block: readName(reader) };
      case "presence":
        return { kind, json: readText(reader, replicaLimits.presence) };
      default:
        throw malformed("it is of an unknown kind");
    }
  });
}

export function encodeServerFrame(frame: ServerFrame): Uint8Array {
  const writer = new ByteWriter();
  writer.byte(serverKinds.indexOf(frame.kind));
  switch (frame.kind) {
    case "grant":
      writer.count(frame.version);
      writer.text(frame.peer);
      writer.text(frame.secret);
      writer.text(frame.presence);
      break;
    case "opened":
      writer.text(frame.block);
      writer.count(frame.blockVersion);
      writer.count(frame.generation);
      writer.byte(frame.whole ? 1 : 0);
      writer.count(frame.counter);
      writer.count(frame.length);
      break;
    case "part":
      writer.text(frame.block);
      writer.bytes(frame.bytes);
      break;
    case "accepted":
      writer.text(frame.block);
      writer.text(frame.peer);
      writer.count(frame.counter);
      writer.count(frame.blockVersion);
      break;
    case "refused":
      writer.text(frame.block ?? "");
      writer.text(frame.code);
      writer.text(frame.message);
      writer.text(JSON.stringify(frame.facts));
      writer.byte(remedies.indexOf(frame.remedy));
      break;
    case "update":
      writeUpdate(writer, frame);
      break;
    case "resync":
      writer.text(frame.block);
      writer.text(frame.why);
      break;
    case "presence":
      writer.text(frame.json);
      break;
  }
  return writer.finish();
}

export function decodeServerFrame(bytes: Uint8Array): ServerFrame {
  return decoding(bytes, Infinity, (reader): ServerFrame => {
    const kind = serverKinds[reader.byte()];
    switch (kind) {
      case "grant": {
        const version = reader.count();
        const peer = checkPeer(reader.text());
        return { kind, version, peer, secret: reader.text(), presence: reader.text() };
      }
      case "opened": {
        const block = reader.text();
        const blockVersion = reader.count();
        const generation = reader.count();
        const whole = reader.byte() === 1;
        const counter = reader.count();
        return { kind, block, blockVersion, generation, whole, counter, length: reader.count() };
      }
      case "part":
        return { kind, block: reader.text(), bytes: reader.bytes() };
      case "accepted": {
        const block = reader.text();
        const peer = checkPeer(reader.text());
        return { kind, block, peer, counter: reader.count(), blockVersion: reader.count() };
      }
      case "refused": {
        const block = reader.text() || undefined;
        const code = reader.text() as ErrorCode;
        const message = reader.text();
        const facts = readFacts(reader);
        const remedy = remedies[reader.byte()];
        if (remedy === undefined) throw malformed("it names an unknown remedy");
        return { kind, block, code, message, facts, remedy };
      }
      case "update":
        return readUpdate(reader);
      case "resync":
        return { kind, block: reader.text(), why: reader.text() };
      case "presence":
        return { kind, json: reader.text() };
      default:
        throw malformed("it is of an unknown kind");
    }
  });
}

function writeUpdate(writer: ByteWriter, frame: Extract<ServerFrame, { kind: "update" }>): void {
  writer.text(frame.block);
  writer.count(frame.fromVersion);
  writer.count(frame.toVersion);
  writer.count(frame.updates.length);
  for (const { peer, bytes } of frame.updates) {
    writer.text(peer ?? "");
    writer.bytes(bytes);
  }
  writer.count(frame.changes.length);
  for (const { actor, edit, splices } of frame.changes) {
    writer.text(actor);
    writer.text(edit);
    writer.count(splices.length);
    for (const { at, remove, insert } of splices) {
      writer.count(at);
      writer.count(remove);
      writer.text(insert);
    }
  }
}

function readUpdate(reader: ByteReader): ServerFrame {
  const block = reader.text();
  const fromVersion = reader.count();
  const toVersion = reader.count();
  const updates = many(reader, () => {
    const peer = reader.text() || undefined;
    return { peer, bytes: reader.bytes() };
  });
  const changes = many(reader, () => {
    const actor = reader.text();
    const edit = reader.text();
    const splices = many(reader, () => {
      return { at: reader.count(), remove: reader.count(), insert: reader.text() };
    });
    return { actor, edit, splices };
  });
  return { kind: "update", block, fromVersion, toVersion, updates, changes };
}

/** A false number of entries ends with the bytes, not with the memory. */
function many<Each>(reader: ByteReader, read: () => Each): Each[] {
  const all: Each[] = [];
  for (let left = reader.count(); left > 0; left--) all.push(read());
  return all;
}

function writeCounters(writer: ByteWriter, counters: ReadonlyMap<string, number>): void {
  writer.count(counters.size);
  for (const [peer, counter] of counters) {
    writer.text(peer);
    writer.count(counter);
  }
}

function readCounters(reader: ByteReader): Map<string, number> {
  const size = reader.count();
  if (size > replicaLimits.peers) throw tooLarge("A list of peers", size, replicaLimits.peers);
  const counters = new Map<string, number>();
  for (let left = size; left > 0; left--) {
    const peer = checkPeer(readName(reader));
    const counter = reader.count();
    if (counter > 0x7fffffff) throw malformed("a counter is too large");
    counters.set(peer, counter);
  }
  return counters;
}

function readName(reader: ByteReader): string {
  return readText(reader, replicaLimits.name);
}

function readText(reader: ByteReader, limit: number): string {
  const text = reader.text();
  if (text.length > limit) throw tooLarge("A text of a frame", text.length, limit);
  return text;
}

function readFacts(reader: ByteReader): Facts {
  try {
    return JSON.parse(reader.text()) as Facts;
  } catch (cause) {
    if (cause instanceof KumikoError) throw cause;
    throw malformed("its facts are not JSON");
  }
}

function checkPeer(peer: string): string {
  if (/^[1-9][0-9]{0,19}$/.test(peer) && BigInt(peer) < 2n ** 64n - 1n) return peer;
  throw malformed("a peer is not a number of 64 bits");
}

/** Whatever is wrong with bytes from outside is told as one of two errors. */
function decoding<Frame>(
  bytes: Uint8Array,
  limit: number,
  read: (reader: ByteReader) => Frame,
): Frame {
  if (bytes.length > limit) throw tooLarge("A frame", bytes.length, limit);
  const reader = new ByteReader(bytes);
  try {
    const frame = read(reader);
    if (!reader.done) throw malformed("it has bytes left over");
    return frame;
  } catch (error) {
    if (!(error instanceof KumikoError) || error.code !== "damaged") throw error;
    const { why } = error.facts;
    throw malformed(typeof why === "string" ? why : error.message);
  }
}

function tooLarge(what: string, size: number, limit: number): KumikoError {
  return new KumikoError("too_large", `${what} has ${size}, and ${limit} is the limit.`, {
    size,
    limit,
  });
}

function malformed(why: string): KumikoError {
  return new KumikoError("frame_malformed", `The frame cannot be read: ${why}.`, { why });
}
