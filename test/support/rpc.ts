import { RpcSession } from "capnweb";
import { WebSocket } from "ws";
import type { Hall } from "../../src/doors/hall.ts";
import { createRpcDoor, type RpcDoorOptions } from "../../src/doors/rpc/door.ts";
import { type FrontOptions, HttpFront } from "../../src/doors/http/index.ts";
import type { Invocation } from "../../src/kernel/index.ts";
import type { RpcWorld } from "../../src/protocol/index.ts";
import { openHall } from "./hall.ts";

type TestHall = Awaited<ReturnType<typeof openHall>>;

interface RpcServer extends TestHall {
  readonly url: string;
  readonly front: HttpFront;
}

/** The RPC door behind the real front, on a port of its own, over a temporary home. */
export async function openRpcServer(
  options: RpcDoorOptions & { readonly http?: FrontOptions["limits"]; readonly port?: number } = {},
): Promise<RpcServer> {
  await using stack = new AsyncDisposableStack();
  const { http: limits, port = 0, ...door } = options;
  const hall = stack.use(await openHall());
  const front = stack.use(await HttpFront.listen(hall.hall, { host: "127.0.0.1", port, limits }));
  front.add({ path: "/rpc", open: () => Promise.resolve(createRpcDoor(hall.hall, door)) });
  const owned = stack.move();
  return {
    ...hall,
    front,
    url: `http://127.0.0.1:${front.port}`,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A bare WebSocket that is open. */
export async function openSocket(url: string, token: string): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/rpc`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.once("open", resolve);
  socket.once("error", reject);
  await promise;
  return socket;
}

/** How and why a socket ended. */
export function ended(socket: WebSocket): Promise<{ code: number; reason: string }> {
  const { promise, resolve } = Promise.withResolvers<{ code: number; reason: string }>();
  socket.once("close", (code, reason) => resolve({ code, reason: reason.toString() }));
  socket.on("error", () => undefined);
  return promise;
}

/** capnweb as it comes, on a socket: what programs in other languages would send. */
export function plainWorld(socket: WebSocket): RpcWorld {
  const queue: string[] = [];
  let waiting: ((text: string) => void) | undefined;
  let fail: ((error: Error) => void) | undefined;
  socket.on("message", (data: Buffer) => {
    const text = data.toString("utf8");
    // What comes on a channel is for who opened it.
    if (text.startsWith("{")) return;
    if (waiting === undefined) queue.push(text);
    else waiting(text);
    waiting = undefined;
  });
  socket.once("close", () => fail?.(new Error("closed")));
  const session = new RpcSession({
    send: (message: string) => socket.send(message),
    receive: () => {
      const text = queue.shift();
      if (text !== undefined) return Promise.resolve(text);
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      waiting = resolve;
      fail = reject;
      return promise;
    },
  });
  return session.getRemoteMain() as unknown as RpcWorld;
}

/** A tool that does something else until it is disposed of: tools are shared by all servers of a process. */
export function instead(
  { registry }: Hall,
  name: string,
  run: (invocation: Invocation) => Promise<unknown>,
): Disposable {
  const tool = registry.list().find((each) => each.name === name)!;
  const before = { ...tool };
  tool.run = (_kernel, invocation) => run(invocation);
  return { [Symbol.dispose]: () => void Object.assign(tool, before) };
}
