import { readOwnerToken } from "../../app/owner-token.ts";
import { KumikoError } from "../../base/index.ts";
import type { Terminal } from "../terminal.ts";

/**
 * The owner's token, and another than the one that was refused. Whoever can write the home's files is its owner, also
 * when the token was lost, revoked or replaced: there is a new one then.
 */
export async function ownerToken(
  terminal: Terminal,
  home: string,
  refused?: string,
): Promise<string> {
  const kept = await readOwnerToken(home);
  if (kept !== undefined && kept !== refused) return kept;
  const { renewOwner } = await import("../doors/owner.ts");
  return renewOwner(terminal, { home, json: false });
}

export function isUnauthorised(error: unknown): error is KumikoError {
  return error instanceof KumikoError && error.code === "unauthorised";
}
