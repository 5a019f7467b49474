import { ByteReader, ByteWriter, KumikoError } from "../base/index.ts";

/** How one value goes into the bytes of a frame and out of them again. */
export interface Field<Value> {
  readonly write: (writer: ByteWriter, value: Value) => void;
  readonly read: (reader: ByteReader) => Value;
}

export type Fields<Of> = { readonly [Name in keyof Of]-?: Field<Of[Name]> };

export const count: Field<number> = {
  write: (writer, value) => writer.count(value),
  read: (reader) => reader.count(),
};

export const flag: Field<boolean> = {
  write: (writer, value) => writer.byte(value ? 1 : 0),
  read: (reader) => reader.byte() === 1,
};

export const text: Field<string> = {
  write: (writer, value) => writer.text(value),
  read: (reader) => reader.text(),
};

/** Empty stands for none. */
export const textOrNone: Field<string | undefined> = {
  write: (writer, value) => writer.text(value ?? ""),
  read: (reader) => reader.text() || undefined,
};

export const bytes: Field<Uint8Array> = {
  write: (writer, value) => writer.bytes(value),
  read: (reader) => reader.bytes(),
};

/** The same, where what was read is looked at before anybody gets it. */
export function checked<Value>(
  { write, read }: Field<Value>,
  check: (value: Value) => void,
): Field<Value> {
  return {
    write,
    read: (reader) => {
      const value = read(reader);
      check(value);
      return value;
    },
  };
}

/** One of few words, as its number. */
export function oneOf<Word extends string>(words: readonly Word[], what: string): Field<Word> {
  return {
    write: (writer, word) => writer.byte(words.indexOf(word)),
    read: (reader) => {
      const word = words[reader.byte()];
      if (word === undefined) throw malformed(`it names an unknown ${what}`);
      return word;
    },
  };
}

/** All of them, in the order in which they are named. */
export function record<Of extends object>(fields: Fields<Of>): Field<Of> {
  const all = Object.entries(fields) as [keyof Of & string, Field<unknown>][];
  return {
    write: (writer, value) => {
      for (const [name, field] of all) field.write(writer, value[name]);
    },
    read: (reader) => {
      const value: { [name: string]: unknown } = {};
      for (const [name, field] of all) value[name] = field.read(reader);
      return value as Of;
    },
  };
}

/** A false number of entries ends with the bytes, not with the memory. */
export function list<Each>({ write, read }: Field<Each>): Field<readonly Each[]> {
  return {
    write: (writer, values) => {
      writer.count(values.length);
      for (const value of values) write(writer, value);
    },
    read: (reader) => {
      const all: Each[] = [];
      for (let left = reader.count(); left > 0; left--) all.push(read(reader));
      return all;
    },
  };
}

type Kinds<Frame extends { readonly kind: string }> = {
  readonly [Kind in Frame["kind"]]: Fields<Omit<Extract<Frame, { kind: Kind }>, "kind">>;
};

interface Frames<Frame> {
  readonly encode: (frame: Frame) => Uint8Array;
  readonly decode: (bytes: Uint8Array) => Frame;
}

/** The frames of one direction. A kind is told by its place among them: a new one goes to the end. */
export function framesOf<Frame extends { readonly kind: string }>(
  kinds: Kinds<Frame>,
  most: number,
): Frames<Frame> {
  const names = Object.keys(kinds);
  const forms = names.map((name) =>
    record(kinds[name as Frame["kind"]] as Fields<{ [field: string]: unknown }>),
  );
  return {
    encode: (frame) => {
      const writer = new ByteWriter();
      const kind = names.indexOf(frame.kind);
      writer.byte(kind);
      forms[kind]!.write(writer, frame);
      return writer.finish();
    },
    decode: (given) =>
      decoding(given, most, (reader) => {
        const kind = reader.byte();
        const form = forms[kind];
        if (form === undefined) throw malformed("it is of an unknown kind");
        return { kind: names[kind], ...form.read(reader) } as unknown as Frame;
      }),
  };
}

/** Whatever is wrong with bytes from outside is told as one of two errors. */
function decoding<Frame>(
  given: Uint8Array,
  most: number,
  read: (reader: ByteReader) => Frame,
): Frame {
  if (given.length > most) throw tooLarge("A frame", given.length, most);
  const reader = new ByteReader(given);
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

export function tooLarge(what: string, size: number, limit: number): KumikoError {
  return new KumikoError("too_large", `${what} has ${size}, and ${limit} is the limit.`, {
    size,
    limit,
  });
}

export function malformed(why: string): KumikoError {
  return new KumikoError("frame_malformed", `The frame cannot be read: ${why}.`, { why });
}
