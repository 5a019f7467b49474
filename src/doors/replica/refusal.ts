import { KumikoError } from "../../base/index.ts";
import type { Remedy, ServerFrame } from "../../protocol/index.ts";

/** Why a block is closed for a client, or without one the connection. */
export function refusal(
  block: string | undefined,
  error: KumikoError,
  remedy = remedyOf(error),
): ServerFrame {
  const { code, message, facts } = error;
  return { kind: "refused", block, code, message, facts, remedy };
}

/** What helps: the same again later, a new copy, or nothing. */
function remedyOf({ code }: KumikoError): Remedy {
  switch (code) {
    case "too_many":
    case "closing":
    case "closed":
    case "journal_unwritable":
    case "outrun":
    case "internal":
      return "retry";
    case "unknown_block":
    case "quarantined":
    case "forbidden":
    case "denied":
    case "invalid_argument":
      return "stop";
    default:
      return "reload";
  }
}

export function tooMany(what: string, limit: number): KumikoError {
  return new KumikoError("too_many", `Too many ${what}: ${limit} is the limit.`, {
    limit,
    retry_after: 1,
  });
}
