import type { Unseen } from "./scan.ts";

export type WatchTrouble =
  | { readonly kind: "root_gone" }
  | { readonly kind: "root_back" }
  /** It was started again and the whole folder compared; while that fails, changes are found by looking. */
  | { readonly kind: "watcher_failed"; readonly reason: string }
  /** Changes are found by looking every 2 seconds; the reason says how to raise the limit. */
  | { readonly kind: "too_many_watches"; readonly reason: string }
  | { readonly kind: "unseen"; readonly unseen: Unseen }
  /** A fault of ours or of who is told; watching goes on, and what was not dealt with is told again. */
  | { readonly kind: "fault"; readonly error: unknown };
