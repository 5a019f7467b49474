import { LoroDoc, type PeerID } from "loro-crdt";
import { WebSocket } from "ws";
import {
  type ClientFrame,
  decodeServerFrame,
  encodeClientFrame,
  REPLICA_VERSION,
  type ServerFrame,
} from "../../src/protocol/index.ts";

export type Closed = { readonly kind: "closed"; readonly code: number };
/** What is said beside the bytes. */
interface Told {
  readonly counter?: number | undefined;
  readonly typed?: Extract<ClientFrame, { kind: "push" }>["typed"];
}
type Grant = Extract<ServerFrame, { kind: "grant" }>;

/** A client that sends whatever it is told to, and keeps a Loro document by hand. */
export class RawReplica implements Disposable {
  readonly socket: WebSocket;
  grant!: Grant;
  doc!: LoroDoc;
  /** Own operations that are on disk. */
  counter = 0;
  #frames: (ServerFrame | Closed)[] = [];
  #waiting: (() => void) | undefined;

  private constructor(url: string, token: string) {
    this.socket = new WebSocket(`${url.replace("http", "ws")}/replica`, [
      "kumiko",
      `bearer.${token}`,
    ]);
    this.socket.on("message", (data: Buffer) => this.#received(decodeServerFrame(data)));
    this.socket.on("error", () => undefined);
    this.socket.once("close", (code) => this.#received({ kind: "closed", code }));
  }

  static async connect(
    url: string,
    token: string,
    hello: Partial<Extract<ClientFrame, { kind: "hello" }>> = {},
  ): Promise<RawReplica> {
    const raw = new RawReplica(url, token);
    const open = Promise.withResolvers<void>();
    raw.socket.once("open", open.resolve);
    raw.socket.once("close", () => open.reject(new Error("the socket was closed")));
    await open.promise;
    raw.send({
      kind: "hello",
      version: REPLICA_VERSION,
      kernel: "main",
      instance: "raw",
      resume: undefined,
      ...hello,
    });
    const answer = await raw.next();
    if (answer.kind !== "grant")
      throw new Error(`was not granted, but told ${JSON.stringify(answer)}`);
    raw.grant = answer;
    return raw;
  }

  send(frame: ClientFrame): void {
    this.socket.send(encodeClientFrame(frame));
  }

  /** The next frame that is not about presence. */
  async next(): Promise<ServerFrame | Closed> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined && frame.kind !== "presence") return frame;
      if (frame !== undefined) continue;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting = resolve;
      await promise;
    }
  }

  async open(block: string): Promise<void> {
    this.send({ kind: "open", block, known: undefined });
    const opened = await this.next();
    if (opened.kind !== "opened") throw new Error(`was not opened: ${JSON.stringify(opened)}`);
    const parts: Uint8Array[] = [];
    for (let length = 0; length < opened.length;) {
      const part = await this.next();
      if (part.kind !== "part") throw new Error(`was no part, but ${part.kind}`);
      parts.push(part.bytes);
      length += part.bytes.length;
    }
    this.doc?.free();
    this.doc = new LoroDoc();
    this.doc.import(Buffer.concat(parts));
    this.doc.setPeerId(this.grant.peer as PeerID);
    this.counter = opened.counter;
  }

  /** Pushes bytes as they are; gives what became of them. */
  async push(
    block: string,
    update: Uint8Array,
    { counter = this.counter, typed }: Told = {},
  ): Promise<Extract<ServerFrame, { kind: "accepted" | "refused" }> | Closed> {
    this.send({ kind: "push", block, counter, live: true, update, typed });
    for (;;) {
      const frame = await this.next();
      if (frame.kind === "update") {
        for (const { bytes } of frame.updates) this.doc.import(bytes);
        continue;
      }
      if (frame.kind === "accepted") this.counter = frame.counter;
      if (frame.kind === "accepted" || frame.kind === "refused" || frame.kind === "closed")
        return frame;
    }
  }

  /** Types something, and gives the bytes of it. */
  typed(at: number, text: string): Uint8Array {
    const from = this.doc.version();
    this.doc.getText("text").insert(at, text);
    this.doc.commit();
    return this.doc.export({ mode: "update", from });
  }

  [Symbol.dispose](): void {
    this.socket.terminate();
    this.doc?.free();
  }

  #received(frame: ServerFrame | Closed): void {
    this.#frames.push(frame);
    this.#waiting?.();
  }
}
