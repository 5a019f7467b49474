import { type IncomingHttpHeaders, request } from "node:http";
import { connect } from "node:net";

export interface Asked {
  readonly method?: string;
  readonly path: string;
  readonly headers?: { readonly [name: string]: string | string[] | undefined };
  readonly body?: string;
}

export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** One request with exactly these headers, whatever a browser or `fetch` would think of them. */
export function ask(port: number, asked: Asked): Promise<Answered> {
  const { promise, resolve, reject } = Promise.withResolvers<Answered>();
  const headers = Object.fromEntries(
    Object.entries({
      ...(asked.body !== undefined && { "content-length": String(Buffer.byteLength(asked.body)) }),
      ...asked.headers,
    }).filter(([, value]) => value !== undefined),
  );
  const sent = request(
    {
      host: "127.0.0.1",
      port,
      agent: false,
      method: asked.method ?? "GET",
      path: asked.path,
      headers,
    },
    (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode!, headers: response.headers, body }),
      );
    },
  );
  sent.on("upgrade", (response, socket) => {
    socket.destroy();
    resolve({ status: 101, headers: response.headers, body: "" });
  });
  sent.on("error", reject);
  sent.end(asked.body);
  return promise;
}

/** What makes a request ask for a WebSocket. */
export const upgrade = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "MDEyMzQ1Njc4OWFiY2RlZg==",
};

export function errorOf({ body }: Answered): { code: string; message: string; facts: object } {
  return (JSON.parse(body) as { error: { code: string; message: string; facts: object } }).error;
}

/** Sends these bytes and gives all that comes back until the other side closes. */
export function sendRaw(port: number, bytes: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let answer = "";
  const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
  socket.setEncoding("utf8").on("data", (chunk: string) => (answer += chunk));
  // Whoever is refused while still sending may only see the connection reset.
  socket.on("error", () => undefined);
  socket.on("close", () => resolve(answer));
  return promise;
}
