import { errorCodes, KumikoError } from "../base/index.ts";
import type { UnsavedFile } from "./files-port.ts";
import type { CallerKind } from "./gate.ts";

/** One call by someone: who, from where, why. Everything that is recorded about the caller comes from here. */
export interface Invocation {
  readonly actor: string;
  readonly kind?: CallerKind | undefined;
  /** The caller's line of sight: what it was shown is what its positions mean. */
  readonly reader?: string | undefined;
  /** When, as its reader counts: what it was shown later the caller did not know. */
  readonly made?: number | undefined;
  /** Calls of the same caller that were not answered yet when it made this one, by their ids: nor did it know those answers. */
  readonly beside?: readonly string[] | undefined;
  /** The conversation the call belongs to. */
  readonly context?: string | undefined;
  /** A folder's real path: paths that name no folder are in that one. */
  readonly folder?: string | undefined;
  /** The tool that is called. */
  readonly tool?: string | undefined;
  /** Makes a retry safe: same id, same arguments, same answer. */
  readonly call?: string | undefined;
  readonly message?: string | undefined;
  readonly model?: string | undefined;
  readonly turn?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The caller comes and goes, one process a call: a block it leaves running waits for its next call. */
  readonly passing?: boolean | undefined;
  /** Told of every file that the call changed and that could not be written: the edit is kept and saved later. */
  readonly onUnsaved?: ((file: UnsavedFile) => void) | undefined;
  /** W3C trace context, passed on as it came. */
  readonly trace?: string | undefined;
}

/**
 * The kernel's own: it takes back what could not be done whole. In words of its own, which stay in the history of all that
 * it takes back: the error's may quote a file that not everybody who reads those may read.
 */
export function bySystem(why: unknown): Invocation {
  const because = why instanceof KumikoError ? errorCodes[why.code] : "something unexpected failed";
  return { actor: "system", kind: "system", message: `It could not be done whole: ${because}` };
}

/** Nothing is begun for a caller that has given up. */
export function checkNotAborted({ signal }: Invocation): void {
  if (signal?.aborted !== true) return;
  throw new KumikoError(
    "aborted",
    "The call was given up before it changed anything.",
    {},
    { cause: signal.reason },
  );
}
