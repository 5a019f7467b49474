import { askServer, type ServerNote } from "../../app/running.ts";
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
    const { renewOwner } = await import("./owner.ts");
    await renewOwner(terminal, flags);
    return askServer(home, note, ...asked);
  }
}

type Rest =
  Parameters<typeof askServer> extends [string, ServerNote, ...infer Asked] ? Asked : never;
