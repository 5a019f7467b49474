import type { CallerKind, ConversationRules, Decision, Operation } from "./gate.ts";
import type { Invocation } from "./invocation.ts";

/**
 * What stands behind blocks that are files: folders that are kept in step with them. The kernel asks; it knows
 * nothing of disks itself.
 */
export interface FilePort extends AsyncDisposable {
  /**
   * The block that a caller means, by its id or by a path. A file is loaded, brought up to date and may be used for
   * the operation, or this throws why not.
   */
  target(invocation: Invocation, given: string, operation: Operation): Promise<string>;
  /** Those of the kernel's own folder, for what is no file; undefined when it has none. */
  rules(): ConversationRules | undefined;
  /** Undefined when the target is no file. */
  authorise(
    caller: { readonly actor: string; readonly kind?: CallerKind | undefined },
    operation: Operation,
    target: string,
  ): Decision | undefined;
  /** Text of a file's block is on its way to nobody: it is in the journal. Never throws. */
  committed(block: string, version: number): void;
  /** Whether a block's text is kept from searches, whoever asks. */
  hidden(block: string): boolean;
  /** What an actor has to know and was not told yet; it is now. */
  tell(actor: string): readonly unknown[];
  /** Resolves when these are on disk, or it is known and told why not. */
  saved(blocks: readonly string[]): Promise<void>;
}
