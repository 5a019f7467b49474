import { join } from "node:path";
import { KumikoError } from "../base/index.ts";
import type { Principal, TokenStore } from "../doors/index.ts";
import { readSmallFile, replaceSmallFile } from "../doors/locked-file.ts";

/** Whoever can read the home's files is its owner: the command line uses this token. */
export async function readOwnerToken(home: string): Promise<string | undefined> {
  return (await readSmallFile(join(home, "owner.token")))?.trim();
}

/** The owner's token, and who it is; a new one when there is none that is good. */
export async function ownerOf(
  home: string,
  tokens: TokenStore,
  actor: string,
): Promise<{ token: string; principal: Principal }> {
  const kept = await readOwnerToken(home);
  const principal = kept === undefined ? undefined : await known(tokens, kept);
  if (kept !== undefined && principal !== undefined) return { token: kept, principal };
  const { token } = await tokens.mintOwner(actor);
  await replaceSmallFile(join(home, "owner.token"), `${token}\n`);
  return { token, principal: await tokens.authenticate(token) };
}

async function known(tokens: TokenStore, token: string): Promise<Principal | undefined> {
  try {
    return await tokens.authenticate(token);
  } catch (error) {
    if (error instanceof KumikoError && error.code === "unauthorised") return undefined;
    throw error;
  }
}
