import type { EditTarget, Splice } from "../../blocks/index.ts";
import type { Invocation, Kernel } from "../../kernel/index.ts";
import { filled, type Hunk, placed } from "./patch-fit.ts";
import { changesText, type PatchedNewFile, type PatchTarget } from "./patch-targets.ts";
import { checkBlock, editBlocks } from "./shared.ts";

/** As git writes the mode of a file that can be run. */
const PROGRAM = "100755";

type Targets = readonly (PatchTarget | PatchedNewFile)[];

interface PatchedFile {
  readonly path: string | null;
  readonly block_id: string;
  readonly created?: true;
  readonly deleted?: true;
  readonly moved_to?: string;
  readonly mode_kept?: true;
  readonly version: number;
  readonly since: string;
  readonly hunks: Hunk[];
}

interface PatchAnswer {
  readonly success: true;
  readonly dry_run: false;
  readonly edit: string;
  readonly files: PatchedFile[];
}

/** What becomes of a file beside its text. */
export function becomes({
  going,
  file,
}: PatchTarget): Pick<PatchedFile, "deleted" | "moved_to" | "mode_kept"> {
  const kept = file.newMode === null || file.kind === "create" ? {} : { mode_kept: true as const };
  if (going === undefined) return kept;
  return going.to === undefined ? { deleted: true } : { moved_to: file.newPath!, ...kept };
}

/**
 * A patch as one Edit, or nothing. All of it is tried before anything is made. Texts change together, in the journal; then
 * files go one by one, those that are deleted last: what fails there all the same is taken back.
 */
export class PatchEdit {
  readonly #kernel: Kernel;
  readonly #invocation: Invocation;
  readonly #targets: Targets;
  readonly #base: number | undefined;
  readonly #existing: readonly PatchTarget[];
  readonly #fresh: readonly PatchedNewFile[];
  /** What is answered of each target so far. */
  readonly #told = new Map<PatchTarget | PatchedNewFile, PatchedFile>();

  constructor(
    kernel: Kernel,
    invocation: Invocation,
    { targets, base }: { readonly targets: Targets; readonly base: number | undefined },
  ) {
    this.#kernel = kernel;
    this.#invocation = invocation;
    this.#targets = targets;
    this.#base = base;
    this.#existing = targets.filter((target) => "block" in target);
    this.#fresh = targets.filter((target) => "fresh" in target);
  }

  async carryOut(fingerprint: string): Promise<PatchAnswer> {
    const kernel = this.#kernel;
    const goes = this.#existing.some(({ going }) => going !== undefined);
    if (goes || this.#fresh.length > 0) await this.#tryAll();
    // What may still be taken back is no answer yet: it is kept when the files are there.
    if (!goes) return this.#change(undefined, this.#fresh.length > 0 ? undefined : fingerprint);
    const edit = await kernel.newFileEdit("patches");
    const steps = this.#going().map(({ going }) => going!);
    // The answer is kept when the files are gone.
    return kernel.underWay.during(edit, steps, () => this.#change(edit, undefined));
  }

  async #change(inEdit: string | undefined, fingerprint: string | undefined): Promise<PatchAnswer> {
    let edit = inEdit;
    let answer: PatchAnswer;
    try {
      for (const target of this.#fresh) edit = await this.#begin(target, edit);
      answer = await this.#changeTexts(edit, fingerprint);
      for (const target of this.#going()) await this.#go(target, answer.edit);
      await this.#makeFiles();
    } catch (error) {
      if (edit !== undefined) await this.#kernel.takeBack(edit, error);
      throw error;
    }
    return this.#answer(answer.edit);
  }

  async #tryAll(): Promise<void> {
    for (const target of this.#fresh) filled(target);
    for (const target of this.#existing)
      await this.#kernel.tryOut(checkBlock(target.block), (document) => {
        const { hunks } = placed(document, target, this.#base);
        this.#tell(target, { version: document.version, since: "", hunks });
      });
  }

  /** The block of a file that is made on disk when everything else is done. */
  async #begin(target: PatchedNewFile, inEdit: string | undefined): Promise<string> {
    const { path, fresh, file: patch } = target;
    const { text, hunks } = filled(target);
    const isProgram = patch.newMode === PROGRAM;
    const how = { edit: inEdit, isProgram };
    const { block, version, edit } = await fresh.create(this.#invocation, text, how);
    const file = { path, block_id: block, created: true, version, since: "", hunks } as const;
    this.#told.set(target, file);
    return edit;
  }

  async #changeTexts(
    inEdit: string | undefined,
    fingerprint: string | undefined,
  ): Promise<PatchAnswer> {
    const changing = this.#existing.filter(changesText);
    const base = this.#base;
    const fitted = new Map<string, Hunk[]>();
    const edits = changing.map((target) => {
      const translate = (document: EditTarget): readonly Splice[] => {
        const { splices, hunks } = placed(document, target, base);
        fitted.set(target.block, hunks);
        return splices;
      };
      return [target.block, { base, translate }] as const;
    });
    return editBlocks(this.#kernel, this.#invocation, {
      blocks: new Map(edits),
      fingerprint,
      edit: inEdit,
      answer: (edit, changed) => {
        for (const target of changing) {
          const { block } = target;
          const { version, since } = changed.find((each) => each.block_id === block)!;
          this.#tell(target, { version, since, hunks: fitted.get(block)! });
        }
        return this.#answer(edit);
      },
    });
  }

  #tell(target: PatchTarget, how: Pick<PatchedFile, "version" | "since" | "hunks">): void {
    const { path, block: block_id } = target;
    this.#told.set(target, { path, block_id, ...becomes(target), ...how });
  }

  #going(): PatchTarget[] {
    const going = this.#existing.filter((target) => target.going !== undefined);
    const { moved = [], deleted = [] } = Object.groupBy(going, (target) =>
      target.going!.to === undefined ? "deleted" : "moved",
    );
    return [...moved, ...deleted];
  }

  async #go(target: PatchTarget, edit: string): Promise<void> {
    const version = await target.going!.carryOut(edit, (document) => {
      placed(document, target, this.#base);
    });
    this.#told.set(target, { ...this.#told.get(target)!, version });
  }

  async #makeFiles(): Promise<void> {
    const made = this.#fresh.map((target) => this.#told.get(target)!);
    const blocks = made.map(({ block_id }) => block_id);
    await this.#kernel.makeFiles(this.#invocation, blocks);
    for (const { block_id, version } of made)
      this.#kernel.readers.show(this.#invocation, block_id, version);
  }

  #answer(edit: string): PatchAnswer {
    const files = this.#targets.map((target) => this.#told.get(target)!);
    return { success: true, dry_run: false, edit, files };
  }
}
