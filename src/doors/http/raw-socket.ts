import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { Log } from "../hall.ts";
import type { WebSocket } from "ws";
import { KumikoError } from "../../base/index.ts";
import { refusalOf, securityHeaders } from "./answer.ts";

/** WebSocket close codes. */
const CLOSE = { unauthorised: 4401, closing: 1001, internal: 1011 } as const;
/** How long a peer may take to answer a close before its socket is ended. */
const GOODBYE = 250;

/** Lets the door say its last words, then closes; a peer that does not answer is not waited for. */
export function endSocket(socket: WebSocket, reason: unknown): void {
  const code = reason instanceof KumikoError ? reason.code : "internal";
  const force = setTimeout(() => socket.terminate(), GOODBYE);
  socket.once("close", () => clearTimeout(force));
  const known = code === "unauthorised" || code === "closing" ? code : "internal";
  setImmediate(() => socket.close(CLOSE[known], known));
}

/** Answers on a socket that has no response: one that asked for an upgrade, or sent no HTTP. */
export function refuseSocket(socket: Duplex, error: unknown, log: Log): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { status, headers, body } = refusalOf(error, log);
  const lines = Object.entries({
    ...securityHeaders,
    ...headers,
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
  }).map(([name, value]) => `${name}: ${value}`);
  // Whoever keeps sending is not listened to.
  socket.once("finish", () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("\r\n")}\r\n\r\n${body}`);
}

/** What Node could not read as a request. */
export function malformed(error: Error & { code?: string }): KumikoError {
  if (error.code === "HPE_HEADER_OVERFLOW")
    return new KumikoError("too_large", "The headers are too large.", { argument: "headers" });
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT")
    return new KumikoError("timed_out", "The request took too long to come in.", {});
  return new KumikoError("invalid_argument", "This is not an HTTP request.", {});
}
