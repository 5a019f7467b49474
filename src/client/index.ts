import { type ConnectOptions, KumikoClient } from "./client.ts";

export { KumikoError } from "../base/index.ts";
export type { BackoffOptions } from "./backoff.ts";
export type { CallOptions, ClientState, ConnectOptions, KumikoClient } from "./client.ts";
export type { ContextClient, Place } from "./context.ts";
export type { Feed, FeedListener, FeedNews, FeedOptions } from "./feed.ts";
export type { KernelClient, ToolOptions } from "./kernel.ts";
export type { Identity } from "./link.ts";
export type { PresenceClient } from "./presence.ts";
export type { RefusedText, Replica, ReplicaNews, ReplicaState } from "./replica.ts";
export type { Replicas } from "./replicas.ts";
export type { SocketClass, SocketLike } from "./socket.ts";
export type { UnsentText } from "./unsent.ts";

/** Connects, and stays connected. It may be used at once: calls wait for the first connection. */
export function connect(options: ConnectOptions): KumikoClient {
  return new KumikoClient(options);
}
