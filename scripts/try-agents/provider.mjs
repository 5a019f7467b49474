// A model provider on this machine: it streams what a script says.

import { once } from "node:events";
import { createServer } from "node:http";

/** Milliseconds that a model thinks when the tool it wants is not offered yet. */
const THOUGHT = 500;

/** Listens on a port of its own until `close`. */
export async function startProvider(wire, script) {
  const server = createServer((request, response) => {
    answer(request, response).catch((error) => {
      script.trouble ??= `the provider failed: ${error.stack}`;
      response.destroy();
    });
  });
  async function answer(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { pathname } = new URL(request.url, "http://provider");
    if (request.method !== "POST" || pathname !== wire.path) {
      response.writeHead(404, { "content-type": "application/json" }).end("{}");
      return;
    }
    const { text, waits } = script.answer(JSON.parse(Buffer.concat(chunks).toString()));
    if (waits) await new Promise((resolve) => setTimeout(resolve, THOUGHT));
    response.writeHead(200, { "content-type": "text/event-stream" }).end(text);
  }
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
