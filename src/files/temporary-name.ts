import { randomBytes } from "node:crypto";

const OWN = /^\.kumiko-[0-9a-f-]{16,36}(\.redo|\.\u00e9|\.e\u0301)?\.tmp$/i;

/** The name of a file that is ours and only there for a moment; `sweep` removes what a crash leaves of them. */
export function temporaryName(kind: "" | ".redo" | ".\u00e9" = ""): string {
  return `.kumiko-${randomBytes(8).toString("hex")}${kind}.tmp`;
}

export function isTemporaryName(name: string): boolean {
  return OWN.test(name);
}

export function isRedoName(name: string): boolean {
  return isTemporaryName(name) && name.endsWith(".redo.tmp");
}
