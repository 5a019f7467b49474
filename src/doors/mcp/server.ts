import {
  Server,
  type ServerContext,
  ProtocolError,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server";
import { KumikoError, type Timers } from "../../base/index.ts";
import type { ToolFilter } from "../../tools/index.ts";
import { callTool, type ToolResult } from "./call-tool.ts";
import { asRefusal, type Host } from "./host.ts";
import { instructions } from "./instructions.ts";
import { reportingProgress } from "./progress.ts";
import type { ResourceWatch } from "./resource-watch.ts";
import { completeResource, listResources, readResource } from "./resources.ts";
import { resourceTemplates } from "./resource-uri.ts";
import { serverInfo } from "./server-info.ts";
import { type CallSight, type Sight, sightOfCall } from "./sight.ts";
import { offeredTools } from "./tool-listing.ts";

/** One connection of a client, or one request where there are no connections. */
export interface Connection {
  readonly host: Host;
  readonly profile: ToolFilter;
  readonly timers: Timers;
  /** What the connection, or this request of it, says of its calls. */
  sight(context: ServerContext): Sight;
  /** Where the protocol has it, and the connection lasts. */
  readonly watch: ResourceWatch | undefined;
  /** Whether the client asked to be told what happens: unasked, it would be noise. */
  wantsLogs(context: ServerContext): boolean;
  /** Adds to what is offered, before anyone connects. */
  readonly equip?: ((server: Server) => void) | undefined;
}

/** Made for every request where the protocol has no connections: it only binds functions. */
export function createServer(connection: Connection): Server {
  const { host, profile } = connection;
  const server = new Server(serverInfo(host), {
    capabilities: {
      tools: {},
      resources: { subscribe: true },
      completions: {},
      logging: {},
    },
    instructions,
  });
  const sightOf = (context: ServerContext): CallSight =>
    sightOfCall(connection.sight(context), context.mcpReq["_meta"]);
  const answering = async <Answer>(run: () => Promise<Answer>): Promise<Answer> => {
    try {
      return await run();
    } catch (error) {
      throw protocolError(asRefusal(host, error));
    }
  };

  server.setRequestHandler("tools/list", (_, context) =>
    answering(async () => ({ tools: await offeredTools(host, profile, sightOf(context)) })),
  );
  server.setRequestHandler("tools/call", ({ params }, context) =>
    answering(async () => {
      const call = {
        name: params.name,
        arguments: params.arguments ?? {},
        sight: connection.sight(context),
        meta: context.mcpReq["_meta"],
        signal: context.mcpReq.signal,
      };
      const result = await reportingProgress(connection.timers, call.name, context, () =>
        callTool(host, profile, call),
      );
      await logOutcome(connection, context, call.name, result);
      return result;
    }),
  );
  server.setRequestHandler("resources/list", ({ params }, context) =>
    answering(() => listResources(host, sightOf(context), params?.cursor)),
  );
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [...resourceTemplates],
  }));
  server.setRequestHandler("resources/read", ({ params }, context) =>
    answering(async () => ({
      contents: [await readResource(host, sightOf(context), params.uri, context.mcpReq.signal)],
    })),
  );
  server.setRequestHandler("completion/complete", ({ params }, context) =>
    answering(async () => ({
      completion: await completeResource(host, sightOf(context), {
        ...params.argument,
        chosen: params.context?.arguments ?? {},
      }),
    })),
  );
  const { watch } = connection;
  if (watch !== undefined) {
    server.setRequestHandler("resources/subscribe", ({ params }) =>
      answering(async () => {
        await watch.add(params.uri);
        return {};
      }),
    );
    server.setRequestHandler("resources/unsubscribe", ({ params }) => {
      watch.remove(params.uri);
      return {};
    });
  }
  connection.equip?.(server);
  return server;
}

async function logOutcome(
  connection: Connection,
  context: ServerContext,
  tool: string,
  { _meta: { "kumiko/error": error } }: ToolResult,
): Promise<void> {
  if (!connection.wantsLogs(context)) return;
  if (error === undefined) return context.mcpReq.log("debug", { tool, outcome: "ok" }, "kumiko");
  const level = error.code === "internal" ? "error" : "info";
  await context.mcpReq.log(level, { tool, outcome: error.code, message: error.message }, "kumiko");
}

/** A refusal outside of tools: the code of ours is in the data. */
function protocolError(error: KumikoError): ProtocolError {
  const code =
    error.code === "internal" ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams;
  const { uri } = error.facts;
  return new ProtocolError(code, error.message, {
    ...(typeof uri === "string" && { uri }),
    kumiko: error.toJSON(),
  });
}
