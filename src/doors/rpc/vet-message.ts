import { KumikoError } from "../../base/index.ts";

type Kind = "push" | "pull" | "resolve" | "reject" | "release" | "abort";

export interface Vetted {
  readonly kind: Kind;
  /** Of the answer or the capability it is about; 0 where it is about none. */
  readonly id: number;
  /** Answers that it refers to: they must not be released before it was handed on. */
  readonly needs: readonly number[];
}

/**
 * Lets in the messages that a peer needs to call us, each with exactly the elements that the library looks at, and
 * the values that we take. Whatever is not named here is refused: the library would also run instructions over lists
 * (`remap`), which multiply, make requests, responses and streams, and call from within arguments.
 */
export function vetMessage(message: readonly unknown[]): Vetted {
  const [kind, about, last] = message;
  const needs: number[] = [];
  const is = (wanted: Kind, length: number): boolean =>
    kind === wanted && message.length === length;
  if (is("push", 2)) {
    vetCall(about, needs);
    return { kind: "push", id: 0, needs };
  }
  if (is("pull", 2) && isId(about)) return { kind: "pull", id: about, needs };
  if ((is("resolve", 3) || is("reject", 3)) && isId(about)) {
    vetValue(last, needs);
    return { kind: kind as Kind, id: 0, needs };
  }
  // We give out an answer once, and a capability as often as it was sent.
  if (is("release", 3) && isId(about) && isId(last) && last >= 1 && (about < 0 || last === 1))
    return { kind: "release", id: about, needs };
  if (is("abort", 2)) {
    vetValue(about, needs);
    return { kind: "abort", id: 0, needs };
  }
  throw malformed("is no message of this protocol");
}

/** What is pushed is a call, or what a path leads to. */
function vetCall(value: unknown, needs: number[]): void {
  if (!Array.isArray(value) || value[0] !== "pipeline" || value.length !== 4) {
    vetReference(value, needs);
    return;
  }
  const given: unknown = value[3];
  vetReference(value.slice(0, 3), needs);
  // The arguments of a call are a plain list.
  if (!Array.isArray(given)) throw malformed("has a call without a list of arguments");
  for (const each of given) vetValue(each, needs);
}

function vetReference(value: unknown, needs: number[]): void {
  if (!Array.isArray(value) || value[0] !== "pipeline" || !isId(value[1]) || !endsInPath(value))
    throw malformed("has a reference that is none");
  needs.push(value[1]);
}

/** The nesting was looked at before the text was parsed. */
function vetValue(value: unknown, needs: number[]): void {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) {
    for (const each of Object.values(value)) vetValue(each, needs);
    return;
  }
  const items: readonly unknown[] = value;
  const [first, second] = items;
  if (Array.isArray(first) && items.length === 1) {
    for (const each of first) vetValue(each, needs);
  } else if (first === "pipeline") {
    vetReference(items, needs);
  } else if (first === "import" && items.length === 2 && isId(second)) {
    needs.push(second);
  } else if (first === "error" && isError(items)) {
    vetValue(items[4], needs);
  } else if (!isScalar(items)) {
    throw malformed(`has a value of a kind that is not taken: ${String(first).slice(0, 40)}`);
  }
}

function isScalar(items: readonly unknown[]): boolean {
  const [tag, value, type] = items;
  switch (tag) {
    case "undefined":
    case "inf":
    case "-inf":
    case "nan":
      return items.length === 1;
    case "date":
      return items.length === 2 && (value === null || typeof value === "number");
    case "bigint":
      return items.length === 2 && typeof value === "string";
    case "bytes":
      return (
        typeof value === "string" &&
        (items.length === 2 || (items.length === 3 && typeof type === "string"))
      );
    // What a peer gives us to call it by: the library's numbers for these are negative.
    case "export":
      return items.length === 2 && isId(value) && value < 0;
    default:
      return false;
  }
}

function isError(items: readonly unknown[]): boolean {
  const [, name, message, trace, facts] = items;
  return (
    items.length >= 3 &&
    items.length <= 5 &&
    typeof name === "string" &&
    typeof message === "string" &&
    (trace === undefined || trace === null || typeof trace === "string") &&
    (items.length < 5 || (typeof facts === "object" && facts !== null && !Array.isArray(facts)))
  );
}

/** A path has only names in it. */
function endsInPath(items: readonly unknown[]): boolean {
  const path: unknown = items[2];
  if (items.length === 2) return true;
  return (
    items.length === 3 &&
    Array.isArray(path) &&
    path.every((part) => typeof part === "string" || typeof part === "number")
  );
}

function isId(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function malformed(what: string): KumikoError {
  return new KumikoError("invalid_argument", `The message ${what}.`, {});
}
