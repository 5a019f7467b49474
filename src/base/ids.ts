import { KumikoError } from "./errors.ts";

/**
 * Names that are safe in a shell, a URL and a file name, and never look like a path. A part never changes;
 * nicknames are kept apart.
 */
const PART = /^[a-z0-9-]{1,32}$/;
/** `main~claude~42`; a file's block belongs to its mount: `@src~file~7`. */
const BLOCK = /^(@?[a-z0-9-]{1,32})~([a-z0-9-]{1,32})~([1-9][0-9]{0,14})$/;

export interface BlockId {
  readonly context: string;
  readonly actor: string;
  readonly sequence: number;
}

function isIdPart(text: string): boolean {
  return PART.test(text);
}

export function checkIdPart(text: string, what: string): void {
  if (isIdPart(text)) return;
  throw new KumikoError(
    "invalid_argument",
    `${what} "${text}" may have 1 to 32 lower-case letters, digits and hyphens.`,
    { value: text, pattern: PART.source },
  );
}

export function formatBlockId({ context, actor, sequence }: BlockId): string {
  return `${context}~${actor}~${sequence}`;
}

export function isBlockId(text: string): boolean {
  return BLOCK.test(text);
}

export function parseBlockId(text: string): BlockId {
  const match = BLOCK.exec(text);
  if (match === null) {
    throw new KumikoError(
      "invalid_argument",
      `"${text}" is not a block: a block is written context~actor~number, for example main~claude~42.`,
      { value: text },
    );
  }
  return { context: match[1]!, actor: match[2]!, sequence: Number(match[3]) };
}
