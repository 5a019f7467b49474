import type * as z from "zod";

/** Of a text that was given: enough to know it again. */
const SHOWN = 40;

const kinds: { readonly [expected: string]: string } = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  tuple: "a list",
  object: "an object",
  record: "an object",
};

/**
 * What does not fit a schema, for whoever has to write it again: zod's own words are for programmers. Handed to each
 * `safeParse`, since a library does not change zod for the program it is in. What a schema says itself goes first; what has
 * no words here has zod's.
 */
export const problemWords: z.core.$ZodErrorMap = (issue) => {
  const { code, input } = issue;
  if (code === "invalid_type" && input === undefined) return "it is missing";
  if (code === "invalid_union") return unionWords(issue);
  if (code === "invalid_format" && issue.format === "regex")
    return `it must match ${issue.pattern}`;
  const size = sizeWords(issue);
  if (size !== undefined) return size;
  const wishes = wishesOf(issue);
  return wishes && mustBe(wishes, input, code === "invalid_value");
};

type Raw = z.core.$ZodRawIssue;

/** What it may be instead; undefined where that cannot be said. */
function wishesOf(issue: Raw | z.core.$ZodIssue): string[] | undefined {
  switch (issue.code) {
    case "invalid_type":
      return [kinds[issue.expected] ?? issue.expected];
    case "invalid_value":
      return issue.values.map(printed);
    case "too_small":
      return [
        issue.inclusive === false ? `more than ${issue.minimum}` : `${issue.minimum} or more`,
      ];
    case "too_big":
      return [
        issue.inclusive === false ? `less than ${issue.maximum}` : `${issue.maximum} or less`,
      ];
    default:
      return undefined;
  }
}

const units: { readonly [origin: string]: string } = { string: "character", array: "element" };

/** Of texts and lists, which are too long or too short. */
function sizeWords(issue: Raw): string | undefined {
  if (issue.code !== "too_small" && issue.code !== "too_big") return undefined;
  const unit = units[issue.origin];
  if (unit === undefined) return undefined;
  if (issue.code === "too_big") return `it may have ${counted(issue.maximum, unit)} at most`;
  return issue.minimum === 1
    ? "it may not be empty"
    : `it must have ${counted(issue.minimum, unit)} or more`;
}

function counted(number: number | bigint, unit: string): string {
  return `${number} ${unit}${number === 1 ? "" : "s"}`;
}

/** All that it may be; or, if it is one of them but for something inside, what is wrong there. */
function unionWords(issue: Extract<Raw, { readonly code: "invalid_union" }>): string | undefined {
  const { input, discriminator, options, errors } = issue;
  if (discriminator !== undefined && Array.isArray(options)) {
    const given = (input as { readonly [name: string]: unknown })[discriminator];
    return mustBe(options.map(printed), given, true);
  }
  const inside = errors.find((problems) => problems.every(({ path }) => path.length > 0));
  if (inside !== undefined)
    return inside.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ");
  const wishes = errors.map(([first]) => first && wishesOf(first));
  return wishes.includes(undefined)
    ? undefined
    : mustBe(
        wishes.flatMap((each) => each!),
        input,
        true,
      );
}

function mustBe(wishes: readonly string[], given: unknown, quotes: boolean): string {
  const all =
    wishes.length < 2 ? wishes.join("") : `${wishes.slice(0, -1).join(", ")} or ${wishes.at(-1)}`;
  return `it must be ${all}${given === undefined ? "" : `, not ${shown(given, quotes)}`}`;
}

function printed(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

/** A text is quoted only where it stands for one of a few words: elsewhere it may be somebody's whole file. */
function shown(given: unknown, quotes: boolean): string {
  if (typeof given === "string" && quotes)
    return JSON.stringify(given.length > SHOWN ? `${given.slice(0, SHOWN)}…` : given);
  if (typeof given === "string") return "a text";
  if (typeof given === "number") return `the number ${given}`;
  if (Array.isArray(given)) return "a list";
  return typeof given === "object" && given !== null ? "an object" : String(given);
}
