import { randomUUID } from "node:crypto";
import { KumikoError, monotonicClock } from "../../base/index.ts";
import type { Kernel } from "../../kernel/index.ts";
import type { ToolFilter, ToolRegistry } from "../../tools/index.ts";
import type { Hall } from "../hall.ts";
import { checkScope, type Given, invocationOf, type Principal } from "../principal.ts";

interface HostedCall {
  readonly name: string;
  readonly input: unknown;
  readonly given: Given;
  readonly filter: ToolFilter;
}

/** Where an MCP server stands: behind a token in a server, or in a process of its own. */
export interface Host {
  readonly version: string;
  readonly registry: ToolRegistry;
  /** Those its caller may use. */
  kernels(): Promise<readonly string[]>;
  kernel(id: string): Kernel | Promise<Kernel>;
  /** Whether its caller may write at all. */
  readonly writes: boolean;
  /** Who acts when this name is given, or none: another's is refused to whoever may not act as others. */
  actorOf(named: string | undefined): string;
  /** Refuses whoever may not read, or asks too often: for what is shown without a tool. */
  allowReading(): void;
  call(kernel: Kernel, call: HostedCall): Promise<unknown>;
  /** Keeps what went wrong for those who run this, and gives the reference under which they find it. */
  fault(error: unknown): string;
}

/** `called` is told who calls; without it, each call stands alone. */
export function hallHost(
  hall: Hall,
  principal: Principal,
  called: (actor: string) => void = (actor) => hall.clients.called(principal, actor),
): Host {
  return {
    version: hall.version,
    registry: hall.registry,
    writes: principal.scopes.has("write"),
    actorOf: (actor) => invocationOf(principal, { actor }).actor,
    allowReading: () => {
      checkScope(principal, "read");
      hall.rates.take(principal);
    },
    kernels: () => kernelNames(hall, principal),
    kernel: (id) => hall.kernelOf(principal, id),
    call: (kernel, call) => {
      called(call.given.actor ?? principal.actor);
      // Whoever speaks MCP is a model's client, whosever token it was given.
      const given = { ...call.given, agent: true };
      return hall.callTool(principal, kernel, { ...call, given });
    },
    fault: (error) => {
      const reference = randomUUID();
      hall.log.error({ err: error, reference, door: "mcp" }, "a call failed");
      return reference;
    },
  };
}

/** Whoever names no kernel asks with every call, and each answer is read from the disk: an old one does for a second. */
const KNOWN_FOR = 1_000;
const known = new WeakMap<Principal, { readonly names: readonly string[]; readonly at: number }>();

async function kernelNames(hall: Hall, principal: Principal): Promise<readonly string[]> {
  const before = known.get(principal);
  const now = monotonicClock.now();
  if (before !== undefined && now - before.at < KNOWN_FOR) return before.names;
  const names = (await hall.listKernels(principal)).map(({ kernel }) => kernel);
  known.set(principal, { names, at: now });
  return names;
}

/** Every refusal is one of ours: of anything else only the reference is told. */
export function asRefusal(host: Host, error: unknown): KumikoError {
  if (error instanceof KumikoError) return error;
  const reference = host.fault(error);
  return new KumikoError(
    "internal",
    `Something went wrong on our side; whoever runs the server finds it in the log under ${reference}.`,
    { reference },
  );
}
