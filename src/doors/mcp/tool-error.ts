import { type ErrorCode, type Fact, type Facts, KumikoError } from "../../base/index.ts";

/** What to do next, where the sentence of the error does not say it. */
const advice: { readonly [Code in ErrorCode]?: string } = {
  conflict:
    "The lines above are the current text: make the edit again by their numbers (with what others changed they now count as read by you).",
  base_required: "Read the block first (block_read), or pass base_version or expected_text.",
  not_found: "Copy the text to replace from the block as it is now, whitespace included.",
  ambiguous: "Give more of the text around it, or say which with occurrence.",
  patch_rejected: "Read the block again and make the patch for what stands there.",
  out_of_range: "Stay within what exists, or read the block again.",
  unknown_block: "List the blocks there are with block_list.",
  unknown_conflict: "file_status lists what is in conflict, and both sides of it.",
  unknown_context: "Use a context that exists, or leave it out for the one you are in.",
  call_reused: "Use a new id for a new call.",
  wrong_status: "A block that has ended stays so: create another one.",
  timed_out: "Make the expression simpler or pass literal text.",
  quarantined: "Use another block and tell a person to run `kumiko doctor`.",
  outrun: "Nothing was changed: try again.",
  journal_unwritable: "Nothing was changed. Tell a person: the disk may be full.",
};

const READ_AGAIN =
  "Too much else was changed since the version you read to be shown here: read the block again before you edit it.";
const QUOTED_UNITS = 4_000;
const QUOTED_LINES = 40;

/** A refusal as a model should read it: what was wrong, what stands there now, what to try. */
export function errorText(error: KumikoError): string {
  const { code, message, facts } = error;
  return [`${code}: ${message}`, ...shown(facts), adviceFor(error)]
    .filter((part) => part !== undefined && part !== "")
    .join("\n");
}

/** What is not shown counts as read by nobody, and is not spoken of. */
function adviceFor({ code, facts }: KumikoError): string | undefined {
  if (code !== "conflict") return advice[code];
  if (!Array.isArray(facts["around"])) return undefined;
  return typeof facts["since"] === "string" ? advice.conflict : READ_AGAIN;
}

function shown(facts: Facts): string[] {
  const { around, version, closest, lines, changed_by: changedBy, actual, since } = facts;
  const parts: string[] = [];
  if (Array.isArray(changedBy) && changedBy.length > 0) {
    const who = changedBy.filter(isRecord).map(({ actor, version: at, message }) => {
      const why = typeof message === "string" ? `, ${JSON.stringify(message)}` : "";
      return `${text(actor)} (version ${text(at)}${why})`;
    });
    parts.push(`Changed by ${[...new Set(who)].join("; ")}.`);
  }
  if (typeof since === "string" && since !== "")
    parts.push("All that others changed since the version you read:", since.trimEnd());
  if (Array.isArray(around) && around.length > 0) {
    const numbered = around
      .filter(isRecord)
      .map(({ line, text: content }) => `${text(line)} ${text(content)}`);
    parts.push(`Version ${text(version)} has, lines counted from 0:`, quoted(numbered));
  } else if (typeof actual === "string" && actual !== "") {
    parts.push("There now:", quoted(actual.split("\n")));
  }
  if (isRecord(closest) && typeof closest["text"] === "string") {
    const first = Number(closest["line"]);
    const numbered = closest["text"].split("\n").map((line, at) => `${first + at} ${line}`);
    parts.push("The closest text there is, lines counted from 0:", quoted(numbered));
  }
  if (Array.isArray(lines) && lines.length > 0 && lines.every((line) => typeof line === "number"))
    parts.push(`It occurs on lines ${lines.join(", ")} (counted from 0).`);
  return parts;
}

/** A model's window is small: what is left out is said. */
function quoted(lines: readonly string[]): string {
  const all = lines.slice(0, QUOTED_LINES).join("\n");
  const cut = all.length > QUOTED_UNITS ? `${all.slice(0, QUOTED_UNITS).toWellFormed()}…` : all;
  return lines.length > QUOTED_LINES ? `${cut}\n(${lines.length - QUOTED_LINES} more lines)` : cut;
}

function text(fact: Fact | undefined): string {
  return typeof fact === "string" ? fact : JSON.stringify(fact ?? null);
}

function isRecord(fact: Fact | undefined): fact is { readonly [name: string]: Fact } {
  return typeof fact === "object" && fact !== null && !Array.isArray(fact);
}
