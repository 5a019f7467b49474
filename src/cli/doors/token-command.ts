import { KumikoError } from "../../base/index.ts";
import { type TokenInfo, tokenRequest } from "../../protocol/index.ts";
import { printJson } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import { moment } from "../home/moment.ts";
import { bold, dim } from "../home/paint.ts";
import type { Terminal } from "../terminal.ts";
import { withTokens } from "./owner.ts";
import type { OwnFlags } from "./place.ts";

export interface NewTokenFlags extends OwnFlags {
  readonly for?: string;
  readonly kind?: string;
  readonly scopes?: readonly string[];
  readonly kernels?: readonly string[];
  readonly expires?: string;
  readonly label?: string;
}

export function newToken(terminal: Terminal, flags: NewTokenFlags): Promise<number> {
  const request = requestOf(flags);
  return withTokens(terminal, flags, async (tokens, owner) => {
    const { token, info } = await tokens.mint(owner, request);
    if (flags.json) {
      await printJson(terminal, { ok: true, token, ...info });
      return exitCode.fine;
    }
    // The token alone goes to standard output, so that a script can take it.
    await terminal.print(`${token}\n`);
    await terminal.complain(
      `${described(info)}. This is the only time it is shown; it goes into a header: Authorization: Bearer <token>\n`,
    );
    return exitCode.fine;
  });
}

export function listTokens(terminal: Terminal, flags: OwnFlags): Promise<number> {
  return withTokens(terminal, flags, async (tokens, owner) => {
    const all = tokens.list(owner);
    if (flags.json) {
      await printJson(terminal, { ok: true, tokens: all });
      return exitCode.fine;
    }
    const lines = all.map(
      (info) =>
        `${bold(terminal, info.id)}  ${described(info)}  ` +
        dim(terminal, [`since ${moment(info.created)}`, origin(info)].join(", ")),
    );
    await terminal.print(`${lines.join("\n")}\n`);
    return exitCode.fine;
  });
}

export function revokeToken(terminal: Terminal, id: string, flags: OwnFlags): Promise<number> {
  return withTokens(terminal, flags, async (tokens, owner) => {
    const revoked = await tokens.revoke(owner, id);
    if (flags.json) await printJson(terminal, { ok: true, revoked });
    else await terminal.print(`${revoked.join(", ")}: revoked\n`);
    return exitCode.fine;
  });
}

function requestOf(flags: NewTokenFlags): ReturnType<typeof tokenRequest.parse> {
  const { kind, scopes, kernels, label, expires } = flags;
  const asked = {
    ...(flags.for !== undefined && { actor: flags.for }),
    ...(kind !== undefined && { kind }),
    ...(scopes !== undefined && { scopes }),
    ...(kernels !== undefined && { kernels }),
    ...(label !== undefined && { label }),
    ...(expires !== undefined && { expires: momentIn(expires) }),
  };
  const parsed = tokenRequest.safeParse(asked);
  if (parsed.success) return parsed.data;
  const [problem] = parsed.error.issues;
  const option = String(problem?.path[0] ?? "");
  throw new KumikoError(
    "invalid_argument",
    `--${option === "actor" ? "for" : option}: ${problem?.message ?? ""}.`,
    { argument: option },
  );
}

const MINUTE = 60_000;
const units: { readonly [unit: string]: number } = {
  m: MINUTE,
  h: 60 * MINUTE,
  d: 24 * 60 * MINUTE,
};

function momentIn(text: string): number {
  const match = /^(\d{1,5})([mhd])$/.exec(text);
  if (match !== null) return Date.now() + Number(match[1]) * units[match[2]!]!;
  throw new KumikoError("invalid_argument", `--expires takes 15m, 12h or 30d, not "${text}".`, {
    argument: "expires",
    value: text,
  });
}

function described({ kind, actor, scopes, kernels, expires, label, once }: TokenInfo): string {
  return [
    `${kind} ${actor}`,
    once ? "for one use as a link" : scopes.join(" "),
    kernels === null ? "all kernels" : kernels.join(" "),
    expires === null ? "never expires" : `until ${moment(expires)}`,
    ...(label === "" ? [] : [JSON.stringify(label)]),
  ].join(", ");
}

function origin({ minted_by: by }: TokenInfo): string {
  return by === null ? "the owner's" : `by ${by}`;
}
