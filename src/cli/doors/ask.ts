import { askServer, serves, type ServerNote } from "../../app/running.ts";
import { KumikoError } from "../../base/index.ts";
import { isUnauthorised } from "../home/owner-token.ts";
import type { Terminal } from "../terminal.ts";
import { type OwnFlags, placeOf } from "./place.ts";

/**
 * Asks the home's server as its owner. Whoever can write the home's files is that, also when the owner's token was
 * revoked or lost: there is a new one then.
 */
export async function askAsOwner(
  terminal: Terminal,
  flags: OwnFlags,
  ...[note, ...asked]: [note: ServerNote, ...Rest]
): Promise<unknown> {
  const home = placeOf(terminal, flags);
  try {
    return await askServer(home, note, ...asked);
  } catch (error) {
    if (!isUnauthorised(error)) throw error;
    if (!(await serves(home, note))) throw gone(note, error);
    const { renewOwner } = await import("./owner.ts");
    await renewOwner(terminal, flags);
    return askServer(home, note, ...asked);
  }
}

function gone({ url }: ServerNote, cause: KumikoError): KumikoError {
  return new KumikoError(
    "unreachable",
    `The server at ${url} has gone, and its address is another home's. Try again.`,
    { url },
    { cause },
  );
}

type Rest =
  Parameters<typeof askServer> extends [string, ServerNote, ...infer Asked] ? Asked : never;
