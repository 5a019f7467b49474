import { actorName, usingHome } from "../../app/index.ts";
import { makeFolder } from "../../app/make-folder.ts";
import { ownerOf } from "../../app/owner-token.ts";
import { realTimers } from "../../base/index.ts";
import { type Principal, TokenStore } from "../../doors/index.ts";
import type { Terminal } from "../terminal.ts";
import { type OwnFlags, placeOf } from "./place.ts";

/** The tokens of a home, as its owner sees them. A server that runs notices what is changed by itself. */
export async function withTokens<Result>(
  terminal: Terminal,
  flags: OwnFlags,
  run: (tokens: TokenStore, owner: Principal, token: string) => Promise<Result>,
): Promise<Result> {
  const place = placeOf(terminal, flags);
  return usingHome(place, async () => {
    await makeFolder(place, 0o700);
    const clock = { now: () => Date.now() };
    using tokens = await TokenStore.open(place, { clock, timers: realTimers });
    const actor = actorName(undefined, terminal.environment);
    const { principal, token } = await ownerOf(place, tokens, actor);
    return run(tokens, principal, token);
  });
}

/** Whoever can write the home's files is its owner, also after the owner's token was revoked: there is a new one then. */
export function renewOwner(terminal: Terminal, flags: OwnFlags): Promise<string> {
  return withTokens(terminal, flags, (_, __, token) => Promise.resolve(token));
}

/** The page's address with a token in its fragment: it never leaves the browser but for one exchange. */
export function linkTo(terminal: Terminal, flags: OwnFlags, url: string): Promise<string> {
  return withTokens(terminal, flags, async (tokens, owner) => {
    const { token } = await tokens.mintLink(owner, "link");
    return `${url}/#token=${token}`;
  });
}
