import { userInfo } from "node:os";
import { checkIdPart, KumikoError } from "../base/index.ts";
import type { Environment } from "./home.ts";

/** `--actor`, else `$KUMIKO_ACTOR`, else the Unix user's name made to fit. */
export function actorName(named: string | undefined, environment: Environment): string {
  const chosen = named ?? (environment["KUMIKO_ACTOR"] || undefined);
  if (chosen === undefined) return fitting(unixUser(environment));
  checkIdPart(chosen, "The actor");
  return chosen;
}

/** A name that may be part of a block's id. */
export function fitting(name: string): string {
  const fit = name
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 32);
  if (fit !== "") return fit;
  throw new KumikoError(
    "invalid_argument",
    `"${name}" has no letters that can name an actor: choose one with --actor or $KUMIKO_ACTOR.`,
    { value: name },
  );
}

/** In a container the user may have no entry at all. */
function unixUser(environment: Environment): string {
  try {
    return userInfo().username;
  } catch {
    return environment["USER"] ?? "";
  }
}
