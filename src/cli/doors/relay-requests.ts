import { Agent, type IncomingMessage, request as httpRequest } from "node:http";
import { isSilent } from "../../app/running.ts";
import { KumikoError } from "../../base/index.ts";

export interface RelayTarget {
  readonly url: URL;
  readonly headers: { readonly [name: string]: string };
}

export interface RequestPorts {
  /** Of every request. */
  readonly headers: { readonly [name: string]: string };
  /** Finds the server, again when it is gone. */
  target(): Promise<RelayTarget>;
}

/** Requests to a server that is looked for when there is something to send. */
export class RelayRequests implements Disposable {
  /** In whose name they are made, once that is known. */
  actor: string | undefined;
  readonly #ports: RequestPorts;
  readonly #agent = new Agent({ keepAlive: true });
  #target: Promise<RelayTarget> | undefined;

  constructor(ports: RequestPorts) {
    this.#ports = ports;
  }

  async send(
    method: "GET" | "POST" | "DELETE",
    headers: { readonly [name: string]: string },
    body?: unknown,
    signal?: AbortSignal,
  ): Promise<IncomingMessage> {
    const finding = (this.#target ??= this.#ports.target());
    finding.catch(() => (this.#target = undefined));
    const target = await finding;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const request = httpRequest(
      target.url,
      {
        method,
        agent: this.#agent,
        headers: {
          ...this.#ports.headers,
          ...target.headers,
          ...(this.actor !== undefined && { "kumiko-actor": this.actor }),
          ...headers,
        },
        ...(signal !== undefined && { signal }),
      },
      resolve,
    );
    request.on("error", reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
    return promise;
  }

  /** The server may be another by now, or know another token: it is looked for again. */
  lookAgain(): void {
    this.#target = undefined;
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

export async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

/** The way to the server broke off, or there was none. */
export function isLost(error: unknown): boolean {
  if (error instanceof KumikoError && isSilent(error)) return false;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return ["ECONNREFUSED", "ECONNRESET", "EPIPE", "unreachable", "closing"].includes(code);
}

export function isStopping(error: unknown): boolean {
  return error instanceof KumikoError && error.code === "closing";
}

export function isGivenUp(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}
