/** What one visitor may take. Everything that comes in is bounded before it is looked at. */
export interface HttpLimits {
  /** Bytes of a request's body and of a WebSocket's message. */
  readonly body: number;
  /** Bytes of all headers together. */
  readonly headers: number;
  /** Milliseconds for the headers, and for the whole request, to come in. */
  readonly headersTimeout: number;
  readonly requestTimeout: number;
  /** Milliseconds after which an answer of which nothing more is read is given up, with its socket. */
  readonly unread: number;
  /** How often, in milliseconds, the first two are looked at. */
  readonly checkEvery: number;
  /** Milliseconds after which a WebSocket that does not answer a ping is ended. */
  readonly heartbeat: number;
  /** Open WebSockets, and requests under way, of one token. */
  readonly perToken: number;
  /** Open sockets in all, those who have not shown a token yet included. */
  readonly sockets: number;
}

export const httpLimits: HttpLimits = {
  body: 4 * 1024 * 1024,
  headers: 16 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  unread: 10_000,
  checkEvery: 1_000,
  heartbeat: 30_000,
  perToken: 1_000,
  sockets: 5_000,
};
