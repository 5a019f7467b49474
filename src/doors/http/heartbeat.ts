import type { WebSocket } from "ws";

/** Ends WebSockets whose other side is gone without a word. */
export class Heartbeat implements Disposable {
  readonly #silent = new Map<WebSocket, boolean>();
  readonly #timer: NodeJS.Timeout;

  constructor(every: number) {
    this.#timer = setInterval(() => this.#beat(), every).unref();
  }

  watch(socket: WebSocket): void {
    this.#silent.set(socket, false);
    socket.on("pong", () => this.#silent.set(socket, false));
    socket.once("close", () => this.#silent.delete(socket));
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    for (const [socket, silent] of this.#silent) {
      // Who is not listened to cannot be heard answering.
      if (socket.isPaused) continue;
      if (silent) {
        socket.terminate();
        continue;
      }
      this.#silent.set(socket, true);
      if (socket.readyState === socket.OPEN) socket.ping();
    }
  }
}
