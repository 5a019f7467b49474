import { isDeepStrictEqual } from "node:util";
import { withItem, without } from "./json-edit.ts";
import { quoted } from "./quoted.ts";
import { NotEditable } from "./text-scanner.ts";

/** A file of an agent's that makes it run a command of ours when it uses its own tools. */
export interface HooksText {
  with(text: string, command: readonly string[]): string;
  without(text: string): string;
}

/** Seconds after which the agent stops waiting for us; we stop earlier by ourselves. */
const TIMEOUT = 10;

/** What runs when the agent's tool does. */
interface Hook {
  readonly type: "command";
  readonly command: string;
  readonly timeout: number;
}

interface Group {
  readonly matcher?: string;
  readonly hooks: readonly Hook[];
}

/** Settings that name commands, in which others have theirs as well. */
export class HookSettings implements HooksText {
  readonly #events: { readonly [event: string]: string | null };

  /** When, and for which of its tools, as the agent names them; null where no tool is meant. */
  constructor(events: { readonly [event: string]: string | null }) {
    this.#events = events;
  }

  /** With our hooks in them, once; every other hook and setting stays. */
  with(text: string, command: readonly string[]): string {
    const blank = text.trim() === "" ? "{}\n" : text;
    return Object.entries(this.#events).reduce((changed, [event, matcher]) => {
      const wanted = groupOf(matcher, command);
      const ours = oursIn(changed, event);
      if (ours.length === 1 && isDeepStrictEqual(ours[0]!.group, wanted)) return changed;
      return withItem(withoutThose(changed, ours), ["hooks", event], wanted);
    }, blank);
  }

  without(text: string): string {
    if (text.trim() === "") return text;
    return Object.keys(this.#events).reduce(
      (changed, event) => withoutThose(changed, oursIn(changed, event)),
      text,
    );
  }
}

function groupOf(matcher: string | null, command: readonly string[]): Group {
  // Whoever shares the file and has no kumiko is to notice nothing of it.
  const line = `${command.map(quoted).join(" ")} || true`;
  const hooks: Hook[] = [{ type: "command", command: line, timeout: TIMEOUT }];
  return matcher === null ? { hooks } : { matcher, hooks };
}

interface Ours {
  readonly group: unknown;
  readonly path: readonly (string | number)[];
}

/** Where our hooks stand: whole groups, or single ones in a group that somebody put others into. */
function oursIn(text: string, event: string): Ours[] {
  const settings = JSON.parse(text.replace(/^\uFEFF/, "")) as unknown;
  const groups = listOf(memberOf(memberOf(settings, "hooks"), event), `hooks.${event}`);
  return groups.flatMap((group, index): Ours[] => {
    const path = ["hooks", event, index];
    const hooks = listOf(memberOf(group, "hooks"), `hooks.${event}.hooks`);
    const own = hooks.flatMap((hook, at) => (isOurs(hook) ? [at] : []));
    if (own.length === 0) return [];
    if (own.length === hooks.length) return [{ group, path }];
    return own.map((at) => ({ group, path: [...path, "hooks", at] }));
  });
}

/** From the end on, so that what stands before keeps its number. */
function withoutThose(text: string, ours: readonly Ours[]): string {
  return ours.reduceRight((changed, { path }) => without(changed, path), text);
}

/** However it is started, and whatever flags it has. */
function isOurs(hook: unknown): boolean {
  const command = memberOf(hook, "command");
  return typeof command === "string" && /kumiko.*\shook\s+[a-z-]+(\s|$)/s.test(command);
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as { readonly [name: string]: unknown })[name]
    : undefined;
}

function listOf(value: unknown, name: string): readonly unknown[] {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value;
  throw new NotEditable(`${name} is not a list`);
}
