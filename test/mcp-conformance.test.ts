import { execFile } from "node:child_process";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { startServer } from "../src/app/server.ts";
import { equipForConformance } from "./support/mcp-fixtures.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

/**
 * All that the suite has for servers. `server-sse-polling` only warns: it names a revision of the protocol in which
 * streams begin without the event that it looks for.
 */
const scenarios = [
  "server-initialize",
  "logging-set-level",
  "ping",
  "completion-complete",
  "tools-list",
  "tools-call-simple-text",
  "tools-call-image",
  "tools-call-audio",
  "tools-call-embedded-resource",
  "tools-call-mixed-content",
  "tools-call-with-logging",
  "tools-call-error",
  "tools-call-with-progress",
  "tools-call-sampling",
  "tools-call-elicitation",
  "json-schema-2020-12",
  "elicitation-sep1034-defaults",
  "server-sse-polling",
  "server-sse-multiple-streams",
  "elicitation-sep1330-enums",
  "resources-list",
  "resources-read-text",
  "resources-read-binary",
  "resources-templates-read",
  "resources-subscribe",
  "resources-unsubscribe",
  "prompts-list",
  "prompts-get-simple",
  "prompts-get-with-args",
  "prompts-get-embedded-resource",
  "prompts-get-with-image",
  "dns-rebinding-protection",
];

/** The suite knows no tokens: this adds one to what it sends. Everything else passes as it is, Host and Origin included. */
async function relay(target: URL, token: string): Promise<AsyncDisposable & { url: string }> {
  const pass = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const forward = request(
      target,
      {
        method: incoming.method,
        headers: { ...incoming.headers, authorization: `Bearer ${token}` },
      },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        outgoing.flushHeaders();
        answer.pipe(outgoing);
      },
    );
    forward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => forward.destroy());
    incoming.pipe(forward);
  };
  const server = createServer(pass);
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    [Symbol.asyncDispose]: () => {
      server.closeAllConnections();
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      return closed.promise;
    },
  };
}

it(
  "a started server passes every server scenario of the conformance suite",
  { timeout: 120_000 },
  async () => {
    using folder = temporaryFolder();
    await using started = await startServer({
      home: join(folder.path, "home"),
      equipMcp: equipForConformance,
    });
    await using suite = await relay(new URL("/mcp", started.url), started.ownerToken);
    const manifest = createRequire(import.meta.url).resolve(
      "@modelcontextprotocol/conformance/package.json",
    );
    const program = join(dirname(manifest), "dist", "index.js");
    const args = [
      program,
      "server",
      "--url",
      suite.url,
      "--suite",
      "all",
      "-o",
      join(folder.path, "report"),
    ];
    const { stdout } = await promisify(execFile)(process.execPath, args).catch(
      // A scenario that fails is in what was printed.
      (error: Error & { stdout?: string }) => ({ stdout: error.stdout ?? error.message }),
    );
    const summary = stdout.slice(stdout.indexOf("=== SUMMARY"));
    const failed = new Map(
      [...summary.matchAll(/^[✓✗] (\S+): \d+ passed, (\d+) failed/gmu)].map(
        ([, scenario = "", count]) => [scenario, Number(count)],
      ),
    );
    expect(Object.fromEntries(failed)).toEqual(
      Object.fromEntries(scenarios.map((scenario) => [scenario, 0])),
    );
  },
);
