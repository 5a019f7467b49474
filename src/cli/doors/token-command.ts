import { HomeFolder } from "../../app/index.ts";
import { findServer } from "../../app/running.ts";
import { KumikoError } from "../../base/index.ts";
import { familyOf } from "../../doors/index.ts";
import { scope, type TokenInfo, tokenKind, tokenRequest } from "../../protocol/index.ts";
import { printJson } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import { counted } from "../home/counted.ts";
import { moment } from "../home/moment.ts";
import { bold, dim } from "../home/paint.ts";
import type { Terminal } from "../terminal.ts";
import { askAsOwner } from "./ask.ts";
import { renewOwner, withTokens } from "./owner.ts";
import { type OwnFlags, placeOf } from "./place.ts";

export interface NewTokenFlags extends OwnFlags {
  readonly for?: string;
  readonly kind?: string;
  readonly scopes?: readonly string[];
  readonly kernels?: readonly string[];
  readonly expires?: string;
  readonly label?: string;
}

export interface RevokeFlags extends OwnFlags {
  readonly yes?: boolean;
}

/** Milliseconds. */
const PATIENCE = 2_000;

export async function newToken(terminal: Terminal, flags: NewTokenFlags): Promise<number> {
  const request = requestOf(flags);
  if (flags.for === undefined && request.kind !== "person") throw nameless(request.kind);
  return withTokens(terminal, flags, async (tokens, owner) => {
    const { token, info } = await tokens.mint(owner, request);
    const place = placeOf(terminal, flags);
    const missing = await missingKernels(place, flags.kernels ?? []);
    if (flags.json) {
      await printJson(terminal, {
        ok: true,
        token,
        ...info,
        ...(missing.length > 0 && { missing_kernels: missing }),
      });
      return exitCode.fine;
    }
    // The token alone goes to standard output, so that a script can take it.
    await terminal.print(`${token}\n`);
    await terminal.complain(
      `${described(info)}. This is the only time it is shown; it goes into a header: Authorization: Bearer <token>\n`,
    );
    if (missing.length > 0)
      await terminal.complain(
        `kumiko: there is no kernel ${missing.join(", ")} yet; the token is for it when there is one.\n`,
      );
    const server = await findServer(place);
    if (server !== undefined)
      await terminal.complain(`MCP over HTTP: ${new URL("/mcp", server.url).href}\n`);
    if (flags.kernels === undefined)
      await terminal.complain(
        "Where there are several kernels, MCP clients over HTTP must send the header kumiko-kernel: <id>.\n",
      );
    return exitCode.fine;
  });
}

/** What an agent does under a person's name would be blamed on the person. */
function nameless(kind = "agent"): KumikoError {
  return new KumikoError(
    "invalid_argument",
    `Say in whose name it acts: --for <name>, for example --for claude. What the ${kind} does is then told from what you do.`,
    { argument: "for" },
  );
}

export function listTokens(terminal: Terminal, flags: OwnFlags): Promise<number> {
  return withTokens(terminal, flags, async (tokens, owner) => {
    const all = tokens.list(owner);
    if (flags.json) {
      await printJson(terminal, { ok: true, tokens: all });
      return exitCode.fine;
    }
    const now = Date.now();
    const links = all.filter(({ once }) => once);
    const good = links.filter(({ expires }) => expires === null || expires > now);
    const others = all.filter(({ once }) => !once);
    const lines = others.map(
      (info) =>
        `${bold(terminal, info.id)}  ${described(info)}  ` +
        dim(terminal, [`since ${moment(info.created)}`, origin(info)].join(", ")),
    );
    if (links.length > 0) {
      const left = `${counted(links.length, "link")} that nobody used, ${good.length} of them still good; --json lists them`;
      lines.push(dim(terminal, left));
    }
    await terminal.print(`${lines.join("\n")}\n`);
    return exitCode.fine;
  });
}

/** Returns when it counts everywhere: a running server has put out whoever came with it. */
export async function revokeToken(
  terminal: Terminal,
  id: string,
  flags: RevokeFlags,
): Promise<number> {
  const revoked = await withTokens(terminal, flags, async (tokens, owner) => {
    if (id === owner.token && flags.yes !== true) throw ownersOwn(id, tokens.list(owner));
    return tokens.revoke(owner, id);
  });
  // The command line goes on: whoever can write the home's files is its owner.
  await renewOwner(terminal, flags);
  const trouble = await notDropped(terminal, flags, revoked);
  if (flags.json) {
    await printJson(terminal, {
      ok: true,
      revoked,
      ...(trouble !== undefined && { server: trouble }),
    });
    return exitCode.fine;
  }
  await terminal.print(`${revoked.join(", ")}: revoked\n`);
  if (trouble !== undefined) await terminal.complain(`kumiko: ${trouble}\n`);
  return exitCode.fine;
}

function ownersOwn(id: string, all: readonly TokenInfo[]): KumikoError {
  const below = familyOf(all, id).size - 1;
  return new KumikoError(
    "invalid_argument",
    `${id} is the owner's own token, and ${counted(below, "other token")} ${below === 1 ? "hangs" : "hang"} on it: agents and pages ` +
      "that use them are put out. The command line gets a new one. Say --yes to do it.",
    { token: id, below },
  );
}

/** Has the running server look now; says why when it is not known that it has. */
async function notDropped(
  terminal: Terminal,
  flags: OwnFlags,
  revoked: readonly string[],
): Promise<string | undefined> {
  const found = await findServer(placeOf(terminal, flags));
  if (found === undefined) return undefined;
  const late = `The server at ${found.url} did not say within ${PATIENCE / 1000} s that it has dropped them; it looks by itself twice a second.`;
  try {
    const answer = await askAsOwner(terminal, flags, found, "GET", "/tokens", {
      signal: AbortSignal.timeout(PATIENCE),
    });
    const { tokens } = answer as { tokens: readonly TokenInfo[] };
    return tokens.some((token) => revoked.includes(token.id)) ? late : undefined;
  } catch (error) {
    if (!(error instanceof KumikoError)) throw error;
    return `${late} (${error.message})`;
  }
}

/** Kernels may be made later: that is worth a word and no refusal. */
async function missingKernels(place: string, named: readonly string[]): Promise<string[]> {
  const home = new HomeFolder(place, "kumiko token new");
  const found = await Promise.all(
    named.map(async (kernel) => ({ kernel, there: await home.has(kernel) })),
  );
  return found.filter(({ there }) => !there).map(({ kernel }) => kernel);
}

function requestOf(flags: NewTokenFlags): ReturnType<typeof tokenRequest.parse> {
  const { kind, scopes, kernels, label, expires } = flags;
  const asked = {
    ...(flags.for !== undefined && { actor: flags.for }),
    ...(kind !== undefined && { kind }),
    ...(scopes !== undefined && { scopes }),
    ...(kernels !== undefined && { kernels }),
    ...(label !== undefined && { label }),
    ...(expires !== undefined && expires !== "never" && { expires: momentIn(expires) }),
  };
  const parsed = tokenRequest.safeParse(asked);
  if (parsed.success) return parsed.data;
  const [problem] = parsed.error.issues;
  const argument = String(problem?.path[0] ?? "");
  const option = argument === "actor" ? "for" : argument;
  const given = [flags[option as keyof NewTokenFlags]].flat().join(",");
  const rule = rules[argument] ?? problem?.message ?? "";
  throw new KumikoError("invalid_argument", `--${option} takes ${rule}, not "${given}".`, {
    argument,
    value: given,
  });
}

const NAME = "1 to 32 lower-case letters, digits and hyphens";
/** What the schema wants, in words. */
const rules: { readonly [argument: string]: string } = {
  actor: NAME,
  kind: tokenKind.options.join(", ").replace(/, (\w+)$/, " or $1"),
  scopes: `one or more of ${scope.options.join(", ")}, with commas between`,
  kernels: `names of kernels with commas between, each ${NAME}`,
  label: "at most 200 characters",
  expires: "15m, 12h, 30d or never",
};

const MINUTE = 60_000;
const units: { readonly [unit: string]: number } = {
  m: MINUTE,
  h: 60 * MINUTE,
  d: 24 * 60 * MINUTE,
};

function momentIn(text: string): number {
  const match = /^(\d{1,5})([mhd])$/.exec(text);
  if (match !== null) return Date.now() + Number(match[1]) * units[match[2]!]!;
  throw new KumikoError(
    "invalid_argument",
    `--expires takes 15m, 12h, 30d or never, not "${text}".`,
    {
      argument: "expires",
      value: text,
    },
  );
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
