import { checkIdPart, KumikoError } from "../base/index.ts";
import type { Invocation } from "../kernel/index.ts";
import type { Scope, TokenKind } from "../protocol/index.ts";

export type { Scope } from "../protocol/index.ts";

/** Who a token is. One per token, shared by all its connections; no request changes it. */
export interface Principal {
  /** The token's id, never its secret. */
  readonly token: string;
  readonly kind: TokenKind;
  readonly actor: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Undefined: all. */
  readonly kernels: readonly string[] | undefined;
  /** Aborts with `unauthorised` when the token is revoked or expires. */
  readonly signal: AbortSignal;
}

export function checkScope(principal: Principal, scope: Scope): void {
  if (principal.scopes.has(scope)) return;
  const scopes = [...principal.scopes];
  throw new KumikoError(
    "forbidden",
    `The token ${principal.token} has no scope ${scope}; it has: ${scopes.join(", ")}. ` +
      "Use another token, or ask whoever minted it for one.",
    { token: principal.token, needed: scope, scopes },
  );
}

/** For what an agent is not to do, whatever its token says: to choose the folders that it may work in. */
export function checkPerson(principal: Principal): void {
  if (principal.kind === "person") return;
  throw new KumikoError(
    "forbidden",
    `The token ${principal.token} is for ${principal.kind === "agent" ? "an agent" : "a service"}, and this is for people to do. Ask one.`,
    { token: principal.token, kind: principal.kind },
  );
}

/** For what shows or changes more than single kernels. */
export function checkEveryKernel(principal: Principal): void {
  if (principal.kernels === undefined) return;
  throw new KumikoError(
    "forbidden",
    `The token ${principal.token} is for ${principal.kernels.join(", ") || "no kernel"} only, and this is about all of them.`,
    { token: principal.token, kernels: principal.kernels },
  );
}

/** What a caller may say of its call; all the rest is the token's. */
export interface Given {
  readonly actor?: string | undefined;
  readonly reader?: string | undefined;
  readonly context?: string | undefined;
  readonly folder?: string | undefined;
  readonly call?: string | undefined;
  readonly beside?: readonly string[] | undefined;
  readonly message?: string | undefined;
  readonly model?: string | undefined;
  readonly turn?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly passing?: boolean | undefined;
  readonly trace?: string | undefined;
  /** It is an agent that calls, with a person's token: it is held to the rules for agents. */
  readonly agent?: boolean | undefined;
}

/** Another actor than the token's own needs the scope `act_as`. */
export function invocationOf(principal: Principal, given: Given): Invocation {
  const { actor = principal.actor, signal, agent = false, ...rest } = given;
  if (actor !== principal.actor) {
    checkScope(principal, "act_as");
    checkIdPart(actor, "The actor");
  }
  return {
    ...rest,
    actor,
    kind: agent && principal.kind === "person" ? "agent" : principal.kind,
    signal: signal === undefined ? principal.signal : AbortSignal.any([principal.signal, signal]),
  };
}
