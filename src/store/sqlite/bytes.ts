/** The same bytes without the ways of Node's Buffer, of which callers and comparisons know nothing. */
export function plain(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Bytes with a buffer of their own: a view would carry all of the buffer it looks at to another thread. */
export function alone(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
}
