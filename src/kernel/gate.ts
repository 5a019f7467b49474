import { KumikoError } from "../base/index.ts";

/** What the gate is asked for. Reading is not among them until there are rules about it. */
export type Operation =
  | "append"
  | "change"
  | "create"
  | "delete"
  /** Of a text, wherever it stands; asked for the kernel, and then `delete` for each block. */
  | "purge"
  | "preview_purge"
  | "create_context"
  | "join_context"
  | "leave_context"
  | "configure";

interface Decision {
  readonly decision: "allow" | "ask" | "deny";
  readonly reason: string;
}

/** The one gate. Until the rules come with files, everything is allowed. */
export type Authorise = (actor: string, operation: Operation, target: string) => Promise<Decision>;

/** Asks the gate for several targets; the first that is not allowed is told. */
export async function checkAllowed(
  authorise: Authorise,
  actor: string,
  operation: Operation,
  targets: readonly string[],
): Promise<void> {
  for (const target of targets) {
    const { decision, reason } = await authorise(actor, operation, target);
    if (decision === "allow") continue;
    throw new KumikoError(
      "denied",
      `${actor} may not ${operation.replaceAll("_", " ")} ${target}: ${reason}`,
      { actor, operation, target, decision },
    );
  }
}
