import { KumikoError } from "../base/index.ts";
import type { Invocation, Kernel } from "../kernel/index.ts";
import { type Conflict, type Conflicts, isUndecided } from "./conflicts.ts";
import type { MountedFile } from "./mounted-file.ts";
import type { Records } from "./records.ts";
import { type ConflictChoice, resolveConflict } from "./resolve-conflict.ts";
import type { Syncing } from "./syncing.ts";

export interface DecidingPorts {
  readonly kernel: Kernel;
  readonly conflicts: Conflicts;
  readonly records: Records;
  readonly syncing: Syncing;
}

/** What somebody decides about a conflict; `now`: the block as it is, whatever was made of the lines meanwhile. */
export type Decided = ConflictChoice | "now";

/**
 * Puts what somebody decided into a block. Whoever calls holds the file's queue, and saves it then. Gives the Edit when
 * lines changed: undoing it opens the conflict again.
 */
export class Deciding {
  readonly #ports: DecidingPorts;

  constructor(ports: DecidingPorts) {
    this.#ports = ports;
  }

  async carryOut(
    invocation: Invocation,
    file: MountedFile,
    conflict: Conflict,
    choice: Decided,
  ): Promise<string | undefined> {
    const { conflicts } = this.#ports;
    let edit: string | undefined;
    if (choice !== "now") {
      if (conflict.gone === true) await this.#ofFile(invocation, file, conflict, choice);
      else edit = await this.#ofLines(invocation, file, conflict, choice);
    }
    if (conflicts.isOpen(conflict.conflict)) await conflicts.resolved(conflict.conflict, edit);
    file.waits = file.synced !== undefined && conflicts.list(file.block).some(isUndecided);
    return edit;
  }

  async #ofLines(
    invocation: Invocation,
    { block, path }: MountedFile,
    conflict: Conflict,
    choice: ConflictChoice,
  ): Promise<string | undefined> {
    return this.#ports.kernel.editFiles(invocation, {
      blocks: [block],
      operation: "change",
      translate: (target) => {
        const splices = resolveConflict(conflict, target.read(), choice);
        if (splices !== "moved") return splices;
        throw new KumikoError(
          "conflict",
          `The lines of ${conflict.conflict} in ${path} were changed since: edit them as they are now if they are not right, then resolve it with choice now.`,
          { conflict: conflict.conflict, path, lost: conflict.lost },
        );
      },
      answer: ({ edit, changes }) => (changes.some(isOfText) ? edit : undefined),
    });
  }

  async #ofFile(
    invocation: Invocation,
    file: MountedFile,
    conflict: Conflict,
    choice: ConflictChoice,
  ): Promise<void> {
    const { conflicts, records, syncing } = this.#ports;
    await syncing.catchUp(file);
    if (!conflicts.isOpen(conflict.conflict)) {
      if (choice === "memory" || choice === "both") return;
      throw new KumikoError(
        "conflict",
        `${file.path} is there again, and what its block had was merged into it: there is nothing left to decide. Edit it as it is now.`,
        { conflict: conflict.conflict, path: file.path },
      );
    }
    const isThere = file.synced !== undefined;
    if (choice === "disk") {
      if (!isThere) await records.giveUp(file);
      return;
    }
    const chosen = typeof choice === "object" ? choice.text : conflict.memory.text;
    const base = (isThere ? conflict.base : conflict.memory).text;
    await syncing.bringBack(file, { base, chosen }, invocation);
    if (!isThere) records.want(file);
  }
}

function isOfText({ splices }: { readonly splices: readonly unknown[] }): boolean {
  return splices.length > 0;
}
