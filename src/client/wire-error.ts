import { type ErrorCode, errorCodes, type Facts, KumikoError } from "../base/index.ts";

/** An error that crossed the wire, as it was: the library keeps what it says and loses what it is. */
export function fromWire(error: unknown): KumikoError {
  if (error instanceof KumikoError) return error;
  const { code, message, facts } = (typeof error === "object" && error !== null ? error : {}) as {
    code?: unknown;
    message?: unknown;
    facts?: unknown;
  };
  const sentence = typeof message === "string" ? message : String(error);
  const known = typeof facts === "object" && facts !== null ? (facts as Facts) : {};
  if (typeof code === "string" && Object.hasOwn(errorCodes, code))
    return new KumikoError(code as ErrorCode, sentence, known);
  // A newer server may have codes of its own.
  const unknown = typeof code === "string" ? { code } : {};
  return new KumikoError("internal", sentence, { ...known, ...unknown }, { cause: error });
}
