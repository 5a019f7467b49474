import * as z from "zod";
import { KumikoError, parseBlockId } from "../../base/index.ts";
import { type Author, type EditTarget, type Splice, unifiedDiff } from "../../blocks/index.ts";
import type { Invocation, Kernel } from "../../kernel/index.ts";

export const blockArgument = z
  .string()
  .describe("the block, written context~actor~number, or the path of a file");

/** What every edit of text answers. */
export const editAnswer = z.strictObject({
  block_id: z.string(),
  version: z.int(),
  edit: z.string().describe("pass it to block_undo to take this back"),
  since: z
    .string()
    .describe(
      "a unified diff of what others changed since the version you read; empty when nothing",
    ),
  unchanged: z
    .literal(true)
    .optional()
    .describe("the text was that already: no version was made, and there is no Edit to take back"),
});

export function checkBlock(block: string): string {
  parseBlockId(block);
  return block;
}

/** The version a caller's positions mean: named, or the one its reader was shown last. */
export function baseVersion(
  kernel: Kernel,
  invocation: Invocation,
  block: string,
  named: number | undefined,
): number | undefined {
  return named ?? kernel.readers.shown(invocation, block);
}

/** What others did since the base, as a unified diff: from before the first of it to behind the last. */
export function changesSince(
  target: EditTarget,
  base: number | undefined,
  isOwn: (author: Author) => boolean,
): string {
  if (base === undefined) return "";
  const isKnown = (version: number): boolean => target.authors([version]).every(isOwn);
  let [first, last] = [base, target.version];
  while (first < last && isKnown(first + 1)) first++;
  while (first < last && isKnown(last)) last--;
  // A base that there is not yet is refused by what reads it.
  if (first === last) return "";
  const names = { oldName: `version ${first}`, newName: `version ${last}` };
  return unifiedDiff(target.read(first), target.read(last), names);
}

/** UTF-16 units of what others changed that a conflict shows; whoever missed more reads the block again. */
const SHOWN = 8_000;

export interface EditOfBlocks<Answer> {
  /** By block: the version its positions mean when that is named, and what to do. */
  readonly blocks: ReadonlyMap<string, BlockEdit>;
  /** Keeps the answer for whoever makes the call again. */
  readonly fingerprint: string | undefined;
  /** Goes on with an Edit; a new one otherwise. */
  readonly edit?: string | undefined;
  /** It gives blocks a text of earlier days: files of theirs that are gone come back with it. */
  readonly restores?: boolean | undefined;
  /** What is answered, and answered again when the call is retried. */
  readonly answer: (edit: string, changed: readonly ChangedBlock[]) => Answer;
}

interface BlockEdit {
  readonly base: number | undefined;
  readonly translate: (target: EditTarget, base: number | undefined) => readonly Splice[];
}

interface ChangedBlock {
  readonly block_id: string;
  readonly version: number;
  readonly since: string;
  readonly isSame: boolean;
}

/**
 * Edits blocks, all or none. Who knew a block before has seen all of it by the answer, and so by a conflict, which tells
 * what others changed as well: later positions mean the version they were shown.
 */
export async function editBlocks<Answer>(
  kernel: Kernel,
  invocation: Invocation,
  { blocks, fingerprint, edit: inEdit, restores, answer }: EditOfBlocks<Answer>,
): Promise<Answer> {
  const bases = new Map<string, number | undefined>();
  for (const [block, { base }] of blocks)
    bases.set(block, baseVersion(kernel, invocation, checkBlock(block), base));
  const since = new Map<string, string>();
  const versions = new Map<string, number>();
  const conflicts = new Map<unknown, { block: string; version: number; others: string }>();
  const isOwn = (author: Author): boolean => kernel.isOwn(author, invocation);
  const editing = kernel.editText(invocation, {
    blocks: [...blocks.keys()],
    operation: "change",
    edit: inEdit,
    fingerprint,
    restores,
    translate: (target, block) => {
      const base = bases.get(block);
      try {
        const splices = blocks.get(block)!.translate(target, base);
        since.set(block, changesSince(target, base, isOwn));
        return splices;
      } catch (error) {
        if (error instanceof KumikoError && error.code === "conflict")
          conflicts.set(error, {
            block,
            version: target.version,
            others: changesSince(target, base, isOwn),
          });
        throw error;
      }
    },
    answer: ({ edit, changes }) => {
      for (const { block, version } of changes) versions.set(block, version);
      return answer(
        edit,
        changes.map(({ block, before, version }) => ({
          block_id: block,
          version,
          since: since.get(block) ?? "",
          isSame: version === before,
        })),
      );
    },
  });
  const answered = await editing.catch((error: unknown) => {
    // Only a conflict that is told has shown anything: others rested on what was never kept.
    const told = conflicts.get(error);
    if (!(error instanceof KumikoError) || told === undefined) throw error;
    const { block, version, others } = told;
    // By the lines in conflict alone nobody could tell what stands where elsewhere, and would write over the wrong ones.
    if (others.length > SHOWN) {
      kernel.readers.forget(invocation, block);
      throw error;
    }
    kernel.readers.advance(invocation, block, version);
    throw new KumikoError(
      error.code,
      error.message,
      { ...error.facts, since: others },
      { cause: error },
    );
  });
  for (const [block, version] of versions)
    if (bases.get(block) !== undefined) kernel.readers.advance(invocation, block, version);
  return answered;
}

export interface EditOfOneBlock extends BlockEdit {
  readonly block: string;
  readonly fingerprint: string;
  readonly restores?: boolean | undefined;
}

export function editOneBlock(
  kernel: Kernel,
  invocation: Invocation,
  { block, base, fingerprint, restores, translate }: EditOfOneBlock,
): Promise<z.input<typeof editAnswer>> {
  return editBlocks(kernel, invocation, {
    blocks: new Map([[block, { base, translate }]]),
    fingerprint,
    restores,
    answer: (edit, [changed]) => {
      const { isSame, ...answer } = changed!;
      return { ...answer, edit, ...(isSame && { unchanged: true as const }) };
    },
  });
}
