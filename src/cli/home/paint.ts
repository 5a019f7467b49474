import { printedDiff, styled } from "../answer.ts";
import type { Terminal } from "../terminal.ts";
import { visible } from "./columns.ts";

export function bold(terminal: Terminal, text: unknown): string {
  return styled(terminal, "bold", visible(String(text)));
}

export function dim(terminal: Terminal, text: string): string {
  return styled(terminal, "dim", text);
}

export function diffLines(terminal: Terminal, diff: unknown): string[] {
  return printedDiff(terminal, String(diff)).replace(/\n$/, "").split("\n");
}
