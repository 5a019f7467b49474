import type { Given } from "../principal.ts";

interface Said {
  readonly actor?: string | undefined;
  readonly reader?: string | undefined;
  readonly context?: string | undefined;
  readonly call_id?: string | undefined;
  readonly message?: string | undefined;
  readonly model?: string | undefined;
  readonly turn?: string | undefined;
  readonly passing?: boolean | undefined;
  readonly trace?: string | undefined;
}

/** What a call says of itself, under the names of an Invocation; what it does not say is not there. */
export function givenBy(said: Said): Given {
  const { actor, reader, context, call_id, message, model, turn, passing, trace } = said;
  return {
    ...(actor !== undefined && { actor }),
    ...(reader !== undefined && { reader }),
    ...(context !== undefined && { context }),
    ...(call_id !== undefined && { call: call_id }),
    ...(message !== undefined && { message }),
    ...(model !== undefined && { model }),
    ...(turn !== undefined && { turn }),
    ...(passing !== undefined && { passing }),
    ...(trace !== undefined && { trace }),
  };
}
