export interface ConnectionLimits {
  /** Replicas that are open. */
  readonly replicas: number;
  /** Frames that came in and were not answered yet. */
  readonly waiting: number;
  /** Updates that ended a vetting worker before the connection is ended. */
  readonly traps: number;
  /** What may be said of oneself in a second. */
  readonly presences: number;
  /** Milliseconds without room for anything more before the peer is given up. */
  readonly stalled: number;
  /** Bytes of an update; of a larger one the block is read again, in parts that wait for the peer to read. */
  readonly update: number;
}

export const connectionLimits: ConnectionLimits = {
  replicas: 256,
  waiting: 256,
  traps: 8,
  presences: 100,
  stalled: 10_000,
  update: 1024 * 1024,
};
