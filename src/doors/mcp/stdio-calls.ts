import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type JSONRPCMessage,
  PROTOCOL_VERSION_META_KEY,
} from "@modelcontextprotocol/server";
import type { ToolFilter } from "../../tools/index.ts";
import { type FastCall, fastCall, MODERN, resultOf, stamped } from "./fast-call.ts";
import type { Host } from "./host.ts";
import type { Sight } from "./sight.ts";

type Id = string | number;
type Fields = { readonly [name: string]: unknown };

/** Who is at the other end of a pipe, and those of its calls that are answered without the protocol's machinery. */
export class StdioCalls {
  readonly #host: Host;
  readonly #profile: ToolFilter;
  readonly #sight: Sight;
  readonly #actorOf: (client: string) => string;
  readonly #underWay = new Map<Id, AbortController>();
  /** By what the client calls itself. */
  readonly #sights = new Map<string, Sight>();
  /** The revision that the first message chose, and who it said it was. */
  #era: "legacy" | "modern" | undefined;
  #client: string | undefined;
  #logs = false;

  constructor(host: Host, profile: ToolFilter, sight: Sight, actorOf: (client: string) => string) {
    this.#host = host;
    this.#profile = profile;
    this.#sight = sight;
    this.#actorOf = actorOf;
  }

  /** Whether the client of 2025-11-25 asked to be told what happens. */
  get logs(): boolean {
    return this.#logs;
  }

  /** What the client calls itself, once it has said so. */
  get client(): string | undefined {
    return this.#client;
  }

  hear(message: JSONRPCMessage): Promise<JSONRPCMessage> | undefined {
    const said = message as { method?: string; params?: Fields | null };
    const { method } = said;
    const params = said.params ?? {};
    if (method === "tools/call") return this.#answered(message, params);
    if (method === "initialize") {
      this.#era ??= "legacy";
      this.#client = nameIn(params["clientInfo"]);
    } else if (method === "logging/setLevel") this.#logs = true;
    else if (method === "notifications/cancelled")
      this.#underWay.get(params["requestId"] as Id)?.abort();
    return undefined;
  }

  /** A process is one reader, and acts by the name its client goes by. */
  sightOf(envelope: Fields | undefined): Sight {
    const name = nameIn(envelope?.[CLIENT_INFO_META_KEY]) ?? this.#client;
    this.#client = name;
    if (this.#sight.actor !== undefined || name === undefined) return this.#sight;
    let sight = this.#sights.get(name);
    if (sight === undefined) {
      sight = { ...this.#sight, actor: this.#actorOf(name) };
      this.#sights.set(name, sight);
    }
    return sight;
  }

  /** The client is gone: nobody waits for these. */
  abort(): void {
    for (const stopping of this.#underWay.values()) stopping.abort();
  }

  #answered(message: JSONRPCMessage, { _meta: meta }: Fields): Promise<JSONRPCMessage> | undefined {
    const envelope = (meta ?? {}) as Fields;
    const modern = isWhole(envelope);
    if (modern) this.#era ??= "modern";
    if (this.#logs || this.#era !== (modern ? "modern" : "legacy")) return undefined;
    if (!modern && envelope[PROTOCOL_VERSION_META_KEY] !== undefined) return undefined;
    const call = fastCall(message, { host: this.#host, profile: this.#profile });
    return call === undefined || this.#underWay.has(call.id)
      ? undefined
      : this.#answer(call, this.sightOf(envelope), modern);
  }

  async #answer(call: FastCall, sight: Sight, modern: boolean): Promise<JSONRPCMessage> {
    const stopping = new AbortController();
    this.#underWay.set(call.id, stopping);
    const connection = { host: this.#host, profile: this.#profile };
    try {
      const result = await resultOf(call, connection, sight, stopping.signal);
      const answer = modern ? stamped(this.#host, result) : result;
      return { jsonrpc: "2.0", id: call.id, result: answer };
    } finally {
      this.#underWay.delete(call.id);
    }
  }
}

/** An envelope of 2026-07-28 with everything it must have; what is missing is explained by the longer way. */
function isWhole(envelope: Fields): boolean {
  return (
    envelope[PROTOCOL_VERSION_META_KEY] === MODERN &&
    nameIn(envelope[CLIENT_INFO_META_KEY]) !== undefined &&
    typeof envelope[CLIENT_CAPABILITIES_META_KEY] === "object"
  );
}

function nameIn(client: unknown): string | undefined {
  const { name } = (client ?? {}) as { name?: unknown };
  return typeof name === "string" ? name : undefined;
}
