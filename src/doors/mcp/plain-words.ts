/** A tool's answer and what it was asked for: both are as the tool's schemas say. */
export type Answer = { readonly [name: string]: unknown };

/** What there is, with some space between. */
export function words(values: readonly unknown[], space = "  "): string {
  return values
    .filter((value) => value !== undefined && value !== null)
    .map(text)
    .join(space);
}

/** What one line cannot hold, or would hide, and what would be taken for a quoted name or for the space behind one. */
const NO_NAME = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]|^[\s"]|\s$| {2}/u;

/** A block or a path in a line with others: a name that could be misread is a JSON string that says it. */
export function named(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  const name = text(value);
  return NO_NAME.test(name) ? quoted(name) : name;
}

export function quoted(name: string): string {
  return JSON.stringify(name).replaceAll(
    /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
