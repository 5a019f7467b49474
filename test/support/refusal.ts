import { KumikoError } from "../../src/base/index.ts";

/** The error with which an action is refused; it is a failure if it is not refused at all. */
export function refusal(action: () => unknown): KumikoError {
  let result: unknown;
  try {
    result = action();
  } catch (error) {
    if (error instanceof KumikoError) return error;
    throw error;
  }
  throw new Error(`was not refused, but gave ${JSON.stringify(result)}`);
}

/** The code of a refusal, or undefined if the action is not refused. */
export function refusalCode(action: () => unknown): string | undefined {
  try {
    action();
  } catch (error) {
    if (error instanceof KumikoError) return error.code;
    throw error;
  }
  return undefined;
}

/** The same of a call. */
export async function refusalOf(call: Promise<unknown>): Promise<KumikoError> {
  const settled = await Promise.allSettled([call]);
  return refusal(() => {
    const [outcome] = settled;
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });
}
