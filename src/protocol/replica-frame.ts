import type { ErrorCode, Facts } from "../base/index.ts";
import {
  bytes,
  checked,
  count,
  type Field,
  flag,
  framesOf,
  list,
  malformed,
  oneOf,
  record,
  text,
  textOrNone,
  tooLarge,
} from "./frame-fields.ts";

/** Counts the changes of what these frames mean; both ends say theirs in the first frame. */
export const REPLICA_VERSION = 2;

/** What one frame may carry, in bytes, and a client may say in it. */
export const replicaLimits = {
  frame: 4 * 1024 * 1024,
  /** Of one update that a client sends. */
  update: 1024 * 1024,
  /** Of a snapshot in one frame; the rest of it follows in others. */
  part: 256 * 1024,
  /** UTF-16 units of what is typed at once, and operations that it is made on top of. */
  typed: 1_000,
  after: 16,
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

interface TypedText {
  readonly after: readonly { readonly peer: string; readonly counter: number }[];
  readonly at: number;
  readonly text: string;
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
      /** All of it in other words, when it is one short insertion: on top of what, where in UTF-16 units, and what. */
      readonly typed: TypedText | undefined;
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

function shortText(limit: number): Field<string> {
  return checked(text, ({ length }) => {
    if (length > limit) throw tooLarge("A text of a frame", length, limit);
  });
}

/** What clients say is bounded, piece by piece. */
const name = shortText(replicaLimits.name);
const peer = checked(text, checkPeer);
const update = checked(bytes, ({ length }) => {
  if (length > replicaLimits.update) throw tooLarge("An update", length, replicaLimits.update);
});

type Resume = Extract<ClientFrame, { kind: "hello" }>["resume"];
const resume: Field<Resume> = {
  write: (writer, value) => {
    writer.text(value?.peer ?? "");
    writer.text(value?.secret ?? "");
  },
  read: (reader) => {
    const granted = name.read(reader);
    const secret = name.read(reader);
    if (granted === "") return undefined;
    checkPeer(granted);
    return { peer: granted, secret };
  },
};

const counters: Field<ReadonlyMap<string, number>> = {
  write: (writer, value) => {
    writer.count(value.size);
    for (const [each, counter] of value) {
      writer.text(each);
      writer.count(counter);
    }
  },
  read: (reader) => {
    const size = reader.count();
    if (size > replicaLimits.peers) throw tooLarge("A list of peers", size, replicaLimits.peers);
    const value = new Map<string, number>();
    for (let left = size; left > 0; left--) {
      const each = name.read(reader);
      checkPeer(each);
      const counter = reader.count();
      if (counter > 0x7fffffff) throw malformed("a counter is too large");
      value.set(each, counter);
    }
    return value;
  },
};

type Known = Extract<ClientFrame, { kind: "open" }>["known"];
const known: Field<Known> = {
  write: (writer, value) => {
    writer.count(value === undefined ? 0 : value.generation + 1);
    if (value !== undefined) counters.write(writer, value.counters);
  },
  read: (reader) => {
    const generation = reader.count();
    return generation === 0
      ? undefined
      : { generation: generation - 1, counters: counters.read(reader) };
  },
};

const typedText = record<TypedText>({
  after: checked(list(record({ peer, counter: count })), ({ length }) => {
    if (length > replicaLimits.after)
      throw tooLarge("What it is on top of", length, replicaLimits.after);
  }),
  at: count,
  text: shortText(replicaLimits.typed),
});
const typed: Field<TypedText | undefined> = {
  write: (writer, value) => {
    flag.write(writer, value !== undefined);
    if (value !== undefined) typedText.write(writer, value);
  },
  read: (reader) => (flag.read(reader) ? typedText.read(reader) : undefined),
};

const code = text as Field<ErrorCode>;
const facts: Field<Facts> = {
  write: (writer, value) => writer.text(JSON.stringify(value)),
  read: (reader) => {
    const json = reader.text();
    try {
      return JSON.parse(json) as Facts;
    } catch {
      throw malformed("its facts are not JSON");
    }
  },
};
const splice = record<Splice>({ at: count, remove: count, insert: text });

const clientFrames = framesOf<ClientFrame>(
  {
    hello: { version: count, kernel: name, instance: name, resume },
    open: { block: name, known },
    push: { block: name, counter: count, live: flag, update, typed },
    close: { block: name },
    presence: { json: shortText(replicaLimits.presence) },
  },
  replicaLimits.frame,
);

const serverFrames = framesOf<ServerFrame>(
  {
    grant: { version: count, peer, secret: text, presence: text },
    opened: {
      block: text,
      blockVersion: count,
      generation: count,
      whole: flag,
      counter: count,
      length: count,
    },
    part: { block: text, bytes },
    accepted: { block: text, peer, counter: count, blockVersion: count },
    refused: {
      block: textOrNone,
      code,
      message: text,
      facts,
      remedy: oneOf(remedies, "remedy"),
    },
    update: {
      block: text,
      fromVersion: count,
      toVersion: count,
      updates: list(record({ peer: textOrNone, bytes })),
      changes: list(record({ actor: text, edit: text, splices: list(splice) })),
    },
    resync: { block: text, why: text },
    presence: { json: text },
  },
  Infinity,
);

export const { encode: encodeClientFrame, decode: decodeClientFrame } = clientFrames;
export const { encode: encodeServerFrame, decode: decodeServerFrame } = serverFrames;

function checkPeer(value: string): void {
  if (/^[1-9][0-9]{0,19}$/.test(value) && BigInt(value) < 2n ** 64n - 1n) return;
  throw malformed("a peer is not a number of 64 bits");
}
