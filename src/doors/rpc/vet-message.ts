import { KumikoError } from "../../base/index.ts";

/**
 * What the library would do for a peer that we never ask for: run instructions over lists (`remap`), which multiply,
 * make requests, responses and streams. Messages of these kinds, and values with these tags, are let in.
 */
const messages = new Set(["push", "pull", "resolve", "reject", "release", "abort"]);
const tags = new Set([
  "pipeline",
  "import",
  "export",
  "undefined",
  "error",
  "inf",
  "-inf",
  "nan",
  "date",
  "bigint",
  "bytes",
]);

/** How much the table of what the peer may refer to grows by a message: an answer is kept until it is released. */
export function vetMessage(message: unknown): number {
  if (!Array.isArray(message) || typeof message[0] !== "string" || !messages.has(message[0])) {
    throw malformed("is no message of this protocol");
  }
  vetValue(message[0] === "push" ? message[1] : message.at(-1));
  if (message[0] === "push") return 1;
  return message[0] === "release" && typeof message[1] === "number" && message[1] > 0 ? -1 : 0;
}

/** The nesting was looked at before the text was parsed. */
function vetValue(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) {
    for (const each of Object.values(value)) vetValue(each);
    return;
  }
  const items: readonly unknown[] = value;
  const [first] = items;
  if (Array.isArray(first) && items.length === 1) {
    for (const each of first) vetValue(each);
    return;
  }
  if (typeof first !== "string" || !tags.has(first)) {
    throw malformed(`has a value of a kind that is not taken: ${String(first).slice(0, 40)}`);
  }
  // The arguments of a call are a plain list; a path has only names in it.
  if (first === "pipeline" && Array.isArray(items[3])) {
    for (const each of items[3]) vetValue(each);
  } else if (first === "error") {
    vetValue(items[4]);
  } else if (items.slice(1).some((each) => typeof each === "object" && !isPath(first, each))) {
    throw malformed(`has a ${first} that is none`);
  }
}

function isPath(tag: string, value: unknown): boolean {
  return (
    value === null ||
    (tag === "pipeline" &&
      Array.isArray(value) &&
      value.every((part) => typeof part === "string" || typeof part === "number"))
  );
}

function malformed(what: string): KumikoError {
  return new KumikoError("invalid_argument", `The message ${what}.`, {});
}
