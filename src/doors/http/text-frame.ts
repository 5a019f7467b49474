const TEXT = 0x81;
const TWO_BYTES = 126;
const EIGHT_BYTES = 127;

/** A message for many connections: encoded once, as the whole frame that a server sends. */
export class TextFrame {
  readonly text: string;
  #bytes: Buffer | undefined;

  constructor(text: string) {
    this.text = text;
  }

  get bytes(): Buffer {
    return (this.#bytes ??= frameOf(this.text));
  }
}

/** RFC 6455, section 5.2: final, text, not masked. */
function frameOf(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const start = length < TWO_BYTES ? 2 : length <= 0xffff ? 4 : 10;
  const frame = Buffer.allocUnsafe(start + length);
  frame[0] = TEXT;
  if (start === 2) {
    frame[1] = length;
  } else if (start === 4) {
    frame[1] = TWO_BYTES;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = EIGHT_BYTES;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  frame.write(text, start, "utf8");
  return frame;
}
