import { type Clock, KumikoError } from "../../base/index.ts";
import type { Scope, TokenInfo, TokenRequest } from "../../protocol/index.ts";
import { checkScope, type Principal } from "../principal.ts";

/** What a new token may do: what was asked for, if the minting token has all of it. */
export type Grant = Pick<TokenInfo, "kind" | "actor" | "scopes" | "kernels" | "label" | "expires">;

/** What a token may do unless more is asked for. */
const USUAL: readonly Scope[] = ["read", "write"];

/** In these names the kernel itself writes down what happened. */
const OWN = ["disk", "system"];

function ownName(actor: string): KumikoError {
  return new KumikoError(
    "invalid_argument",
    `${actor} is what Kumiko itself is called where it writes down what happened: choose another name.`,
    { argument: "actor", value: actor },
  );
}

/** Throws `forbidden` for anything that the minting token does not have itself. */
export function grantOf(
  by: Principal,
  expiry: number | null,
  request: TokenRequest,
  clock: Clock,
): Grant {
  checkScope(by, "mint");
  const kind = request.kind ?? (by.kind === "person" ? "agent" : by.kind);
  if (by.kind !== "person" && kind !== by.kind)
    throw tooMuch(by, "kind", kind, `only a person's token mints one of another kind than its own`);
  const actor = request.actor ?? by.actor;
  if (actor !== by.actor) checkScope(by, "act_as");
  if (OWN.includes(actor)) throw ownName(actor);
  const scopes = [...new Set(request.scopes ?? USUAL.filter((scope) => by.scopes.has(scope)))];
  for (const scope of scopes) {
    if (!by.scopes.has(scope)) throw tooMuch(by, "scopes", scope, `it has no scope ${scope}`);
  }
  const kernels = request.kernels ?? by.kernels ?? null;
  for (const kernel of request.kernels ?? []) {
    if (by.kernels?.includes(kernel) === false)
      throw tooMuch(by, "kernels", kernel, `it is not for the kernel ${kernel}`);
  }
  return {
    kind,
    actor,
    scopes,
    kernels: kernels === null ? null : [...new Set(kernels)],
    label: request.label ?? "",
    expires: expiryOf(by, expiry, request.expires, clock),
  };
}

function expiryOf(
  by: Principal,
  latest: number | null,
  asked: number | undefined,
  clock: Clock,
): number | null {
  if (asked === undefined) return latest;
  if (asked <= clock.now()) {
    throw new KumikoError("invalid_argument", "The token would have expired already.", {
      argument: "expires",
      value: asked,
      now: clock.now(),
    });
  }
  if (latest !== null && asked > latest) {
    const until = new Date(latest).toISOString();
    throw tooMuch(by, "expires", asked, `it expires itself at ${until}`);
  }
  return asked;
}

function tooMuch(by: Principal, what: string, asked: string | number, why: string): KumikoError {
  return new KumikoError(
    "forbidden",
    `The token ${by.token} cannot mint that (${what}: ${asked}): ${why}.`,
    { token: by.token, argument: what, asked },
  );
}
