import { randomBytes } from "node:crypto";

const OWN = /^\.kumiko-[0-9a-f-]{16,36}(\.redo|\.\u00e9|\.e\u0301)?\.tmp$/i;

/** What no other process has; asked of the system for each name, it took longer than the opening of the file. */
const own = randomBytes(8).toString("hex");
let last = 0;

/** The name of a file that is ours and only there for a moment; `sweep` removes what a crash leaves of them. */
export function temporaryName(kind: "" | ".redo" | ".\u00e9" = ""): string {
  last += 1;
  return `.kumiko-${own}-${last.toString(16)}${kind}.tmp`;
}

export function isTemporaryName(name: string): boolean {
  return OWN.test(name);
}

export function isRedoName(name: string): boolean {
  return isTemporaryName(name) && name.endsWith(".redo.tmp");
}
