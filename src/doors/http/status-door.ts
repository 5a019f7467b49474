import { listFolders, type MountedFolder, Mounts } from "../../files/index.ts";
import type { Hall } from "../hall.ts";
import { checkEveryKernel, checkScope, type Principal } from "../principal.ts";
import { checkMethod, sendJson } from "./answer.ts";
import type { Connections } from "./connections.ts";
import type { RequestDoor } from "./door.ts";

export interface Surroundings {
  readonly connections: Connections;
  readonly since: number;
  /** Whether it is an agent's `kumiko mcp`. */
  readonly inAgent: boolean;
  /** Which folder each kernel is for. */
  readonly folders: () => Promise<ReadonlyMap<string, string>>;
}

/** What runs here, as far as a token may know. */
export interface Status {
  readonly server: { version: string; since: number; pid: number; in_agent: boolean };
  readonly you: { actor: string; kind: string; token: string };
  readonly kernels: readonly {
    kernel: string;
    folder: string | null;
    bytes: number;
    /** Null while it is not open. */
    contexts: readonly string[] | null;
    position: number | null;
    /** Null while it is not open. */
    mounts: readonly MountedFolder[] | null;
  }[];
  readonly connections: readonly {
    actor: string;
    kind: string;
    door: string;
    since: number;
    address: string;
  }[];
  /** Those of MCP: sessions, and who called within the last minute. */
  readonly clients: readonly {
    name: string | null;
    actor: string;
    kind: string;
    door: string;
    since: number;
    last_call: number | null;
    session: boolean;
  }[];
}

/** `/status.json`: for the page and `kumiko status`. */
export function createStatusDoor(hall: Hall, surroundings: Surroundings): RequestDoor {
  return {
    path: "/status.json",
    async serve(request, response, { principal }) {
      checkMethod(request, ["GET"]);
      checkScope(principal, "read");
      sendJson(response, await statusOf(hall, surroundings, principal));
    },
  };
}

async function statusOf(
  hall: Hall,
  { connections, since, inAgent, folders }: Surroundings,
  principal: Principal,
): Promise<Status> {
  const known = await folders();
  const open = new Map((await hall.world.opened()).map((kernel) => [kernel.id, kernel]));
  const kernels = (await hall.listKernels(principal)).map(async ({ kernel, bytes }) => {
    const opened = open.get(kernel);
    const contexts = (await opened?.contexts.list())?.map(({ context }) => context);
    return {
      kernel,
      folder: known.get(kernel) ?? null,
      bytes,
      contexts: contexts ?? null,
      position: opened?.feed.head ?? null,
      mounts: opened === undefined ? null : opened.hasFiles ? listFolders(Mounts.of(opened)) : [],
    };
  });
  const all = principal.scopes.has("admin") && principal.kernels === undefined;
  const visible = connections
    .list()
    .filter(({ kind, visitor }) => kind === "socket" && (all || visitor.principal === principal));
  const { token, actor, kind } = principal;
  return {
    server: { version: hall.version, since, pid: process.pid, in_agent: inAgent },
    you: { token, actor, kind },
    kernels: await Promise.all(kernels),
    connections: visible.map(({ door, visitor, since: from }) => ({
      actor: visitor.principal.actor,
      kind: visitor.principal.kind,
      door,
      since: from,
      address: visitor.address,
    })),
    clients: hall.clients
      .list()
      .filter((client) => all || client.principal === principal)
      .map((client) => ({
        name: client.name,
        actor: client.actor,
        // Whoever speaks MCP is a model's client, whosever token it was given.
        kind: client.principal.kind === "person" ? "agent" : client.principal.kind,
        door: "/mcp",
        since: client.since,
        last_call: client.lastCall,
        session: client.session,
      })),
  };
}

/** `/metrics`, for Prometheus: of all kernels, so for tokens that are for all. */
export function createMetricsDoor(hall: Hall, { since }: Surroundings): RequestDoor {
  return {
    path: "/metrics",
    async serve(request, response, { principal }) {
      checkMethod(request, ["GET"]);
      checkScope(principal, "read");
      checkEveryKernel(principal);
      await measure(hall, since);
      response.writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" });
      response.end(hall.metrics.render());
    },
  };
}

async function measure(hall: Hall, since: number): Promise<void> {
  const { metrics } = hall;
  const kernels = await hall.world.opened();
  metrics.clear("kumiko_journal_position");
  for (const { id, feed } of kernels)
    metrics.gauge("kumiko_journal_position", { kernel: id }).set(feed.head);
  const subscribers = kernels.reduce((sum, { feed }) => sum + feed.subscribers, 0);
  metrics.gauge("kumiko_feed_subscribers").set(subscribers);
  metrics.gauge("kumiko_kernels_open").set(kernels.length);
  metrics.gauge("kumiko_tokens").set(hall.tokens.size);
  metrics.gauge("process_resident_memory_bytes").set(process.memoryUsage.rss());
  metrics.gauge("process_start_time_seconds").set(since / 1000);
  metrics.gauge("kumiko_uptime_seconds").set((hall.clock.now() - since) / 1000);
}
