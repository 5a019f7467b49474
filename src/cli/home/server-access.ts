import { WebSocket } from "ws";
import { connect } from "../../client/index.ts";
import type { Access } from "./access.ts";

export interface ServerAddress {
  readonly url: string;
  readonly token: string;
}

/** Milliseconds. */
interface Patience {
  /** For the first answer; then it throws `offline`. */
  readonly first: number;
  /** For calls that the server is lost to. */
  readonly later: number;
}

/** The capabilities of a server. */
export async function serverAccess(
  { url, token }: ServerAddress,
  { first, later }: Patience,
): Promise<Access> {
  await using opening = new AsyncDisposableStack();
  const backoff = { first: 50, most: 500 };
  // Node's own takes longer to load.
  const client = opening.use(connect({ url, token, patience: later, backoff, WebSocket }));
  await client.link(first);
  const lost = new AbortController();
  client.onState((state) => {
    if (state === "offline" || state === "refused") lost.abort(client.error);
  });
  const owned = opening.move();
  return {
    server: url,
    lost: lost.signal,
    world: (run, how) => client.call(({ world }) => run(world), how),
    kernel: (id, run, how) => client.call((link) => run(link.kernel(id)), how),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
