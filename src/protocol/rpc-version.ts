/**
 * Counts the changes of what crosses the wire in `rpc`. Both ends say theirs at the beginning; a test compares it
 * with a hash of all schemas, so that nobody changes one and forgets the other.
 */
export const PROTOCOL_VERSION = 2;

/** Why a server ended a connection, as WebSocket close codes; the reason is the same word. */
export const closeCodes = {
  /** The server stops. */
  closing: 1001,
  /** What was sent is not the protocol. */
  malformed: 4400,
  /** The token was revoked or has expired. */
  unauthorised: 4401,
  /** The client does not read what it is sent: it comes again and goes on from its positions. */
  resync: 4408,
  /** More is held or under way than one connection may have. */
  too_many: 4429,
} as const;

export type CloseReason = keyof typeof closeCodes;
