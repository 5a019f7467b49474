import { KumikoError } from "../../base/index.ts";

/** Where a call belongs and who looks: said by the connection, and by any call that knows better. */
export interface Sight {
  readonly kernel?: string | undefined;
  readonly context?: string | undefined;
  readonly reader?: string | undefined;
  readonly actor?: string | undefined;
  /** The real path of the folder in which paths are that name none. */
  readonly folder?: string | undefined;
  /** W3C trace context. */
  readonly trace?: string | undefined;
}

/** What only a call says. */
export interface CallSight extends Sight {
  readonly call?: string | undefined;
  /** The client's calls that were under way when it made this one. */
  readonly beside?: readonly string[] | undefined;
  readonly model?: string | undefined;
  readonly turn?: string | undefined;
}

const ofConnections = ["kernel", "context", "reader", "actor"] as const;
const ofCalls = [...ofConnections, "call", "model", "turn"] as const;
const LONGEST = 128;
const LONGEST_PATH = 4096;

/**
 * From `kumiko-kernel`, `kumiko-context`, `kumiko-reader`, `kumiko-actor` and `kumiko-folder`, which is percent-encoded: a
 * header has no room for every name.
 */
export function sightOfHeaders(header: (name: string) => string | undefined): Sight {
  const folder = decoded("the header kumiko-folder", header("kumiko-folder"));
  const said = ofConnections
    .map((name) => [name, checked(`the header kumiko-${name}`, header(`kumiko-${name}`))] as const)
    .filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(said), ...(folder !== undefined && { folder }) };
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
  const folder = checked("_meta kumiko/folder", meta["kumiko/folder"], LONGEST_PATH);
  const beside = checkedAll("_meta kumiko/beside", meta["kumiko/beside"]);
  const trace = meta["traceparent"];
  const { kernel = connection.kernel, ...rest } = Object.fromEntries(said) as Partial<CallSight>;
  return {
    ...connection,
    ...rest,
    kernel,
    beside,
    // Another kernel has other folders.
    folder: folder ?? (kernel === connection.kernel ? connection.folder : undefined),
    ...(typeof trace === "string" && trace.length <= LONGEST && { trace }),
  };
}

function checkedAll(where: string, value: unknown): string[] | undefined {
  if (value === undefined) return undefined;
  if (Array.isArray(value)) return value.map((each) => checked(where, each) ?? "");
  throw new KumikoError("invalid_argument", `${where} must be a list of texts.`, { at: where });
}

function decoded(where: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  try {
    return checked(where, decodeURIComponent(value), LONGEST_PATH);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    throw new KumikoError("invalid_argument", `${where} must be percent-encoded.`, { at: where });
  }
}

function checked(where: string, value: unknown, longest = LONGEST): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && value !== "" && value.length <= longest) return value;
  throw new KumikoError(
    "invalid_argument",
    `${where} must be a text of 1 to ${longest} characters.`,
    { at: where },
  );
}
