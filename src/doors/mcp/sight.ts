import { KumikoError } from "../../base/index.ts";

/** Where a call belongs and who looks: said by the connection, and by any call that knows better. */
export interface Sight {
  readonly kernel?: string | undefined;
  readonly context?: string | undefined;
  readonly reader?: string | undefined;
  readonly actor?: string | undefined;
  /** W3C trace context. */
  readonly trace?: string | undefined;
}

/** What only a call says. */
export interface CallSight extends Sight {
  readonly call?: string | undefined;
  readonly model?: string | undefined;
  readonly turn?: string | undefined;
}

const ofConnections = ["kernel", "context", "reader", "actor"] as const;
const ofCalls = [...ofConnections, "call", "model", "turn"] as const;
const LONGEST = 128;

/** From `kumiko-kernel`, `kumiko-context`, `kumiko-reader` and `kumiko-actor`. */
export function sightOfHeaders(header: (name: string) => string | undefined): Sight {
  return Object.fromEntries(
    ofConnections
      .map(
        (name) => [name, checked(`the header kumiko-${name}`, header(`kumiko-${name}`))] as const,
      )
      .filter(([, value]) => value !== undefined),
  );
}

/** The connection's, and what the call's `_meta` says: `kumiko/kernel`, `kumiko/call` and so on. */
export function sightOfCall(
  connection: Sight,
  meta: { readonly [key: string]: unknown } | undefined,
): CallSight {
  if (meta === undefined) return connection;
  const said = ofCalls
    .map((name) => [name, checked(`_meta kumiko/${name}`, meta[`kumiko/${name}`])] as const)
    .filter(([, value]) => value !== undefined);
  const trace = meta["traceparent"];
  return {
    ...connection,
    ...Object.fromEntries(said),
    ...(typeof trace === "string" && trace.length <= LONGEST && { trace }),
  };
}

function checked(where: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && value !== "" && value.length <= LONGEST) return value;
  throw new KumikoError(
    "invalid_argument",
    `${where} must be a text of 1 to ${LONGEST} characters.`,
    { at: where },
  );
}
