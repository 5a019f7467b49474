import { KumikoError } from "../base/index.ts";

/** What is used of a WebSocket: the browser's, Node's own, or the one of `ws`. */
export interface SocketLike {
  readonly readyState: number;
  readonly bufferedAmount: number;
  send(data: string): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: "open" | "error", listener: () => void): void;
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(
    type: "close",
    listener: (event: { readonly code: number; readonly reason: string }) => void,
  ): void;
}

export type SocketClass = new (url: string, protocols: string[]) => SocketLike;

/** The one that was given, else the one there is. */
export function socketClass(given: SocketClass | undefined): SocketClass {
  const found = given ?? (globalThis as { WebSocket?: SocketClass }).WebSocket;
  if (found !== undefined) return found;
  throw new KumikoError(
    "invalid_argument",
    "There is no WebSocket here: pass one, such as that of the package ws.",
    { argument: "WebSocket" },
  );
}
