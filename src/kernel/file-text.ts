import { KumikoError } from "../base/index.ts";

/** With a NUL in it a file would be taken for a binary one: the block could never be saved, so it never gets one. */
export function checkFileText(block: string, text: string): void {
  if (!block.startsWith("@") || !text.includes("\0")) return;
  throw new KumikoError(
    "invalid_argument",
    `What you wrote has a NUL character at offset ${text.indexOf("\0")}, and ${block} is a file: with it the file would be ` +
      "no text any more. Nothing was changed; leave the character out.",
    { block, offset: text.indexOf("\0") },
  );
}
