import type { IncomingMessage, ServerResponse } from "node:http";
import type { WebSocket } from "ws";
import type { Principal } from "../principal.ts";
import type { Wire } from "./outflow.ts";

/** Who stands at a door: let in, and known. */
export interface Visitor {
  readonly principal: Principal;
  readonly address: string;
  /** W3C trace context, as the request brought it. */
  readonly trace?: string | undefined;
}

/**
 * A door for WebSockets. It owns the socket, and the wire below it, on which whole frames go. When the principal's signal
 * aborts, or the server drains, it may say why at once; the front then closes what is still open.
 */
export interface SocketDoor {
  readonly path: string;
  accept(socket: WebSocket, visitor: Visitor, wire: Wire): void;
}

/**
 * A door for requests. It answers, or throws: a `KumikoError` becomes its status and body, anything else `internal`.
 * Bodies are read with `readJson` of `body.ts`, which knows the limits.
 */
export interface RequestDoor {
  readonly path: string;
  serve(request: IncomingMessage, response: ServerResponse, visitor: Visitor): Promise<void>;
}
