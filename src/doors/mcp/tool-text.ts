import { conflictsText, conflictText } from "./conflict-text.ts";
import { type Answer, named, quoted, text, words } from "./plain-words.ts";

type Form = (answer: Answer, input: Answer) => string;

/** Answers as a model reads them best: plain text, line numbers from 0, the version beside it. */
const forms: { readonly [tool: string]: Form } = {
  block_create: ({ block_id, version, edit }) =>
    `Created ${text(block_id)}, version ${text(version)} (edit ${text(edit)}).`,
  block_append: ({ accepted, durable_version }, { block_id }) =>
    `Taken: ${text(accepted)} characters so far. ${named(block_id)} is on disk up to version ${text(durable_version)}.`,
  block_read: readText,
  block_list: listText,
  block_history: historyText,
  block_diff: ({ diff, from, to }) =>
    diff === "" ? `No difference between version ${text(from)} and ${text(to)}.` : text(diff),
  block_blame: blameText,
  block_search: (answer, { block_id }) =>
    foundText([{ block_id, ...answer }], answer, "Nothing found"),
  kernel_search: (answer, input) =>
    foundText(answer["blocks"] as readonly Answer[], answer, nothingIn(answer, input)),
  block_apply_patch: patchText,
  block_undo: (answer) => flipText("Undid", answer),
  block_redo: (answer) => flipText("Brought back", answer),
  block_status: (answer, input) => `${editText(answer, input)}\nIt is ${text(answer["status"])}.`,
  file_create: ({ path, block_id, version }) =>
    `Created ${named(path)} (${text(block_id)}, version ${text(version)}); it is on disk.`,
  file_list: filesText,
  file_resolve: resolvedText,
};

/** Their text is long and says all there is: of it only the numbers are sent a second time, as data. */
const saidByText = new Set(["block_read", "block_diff"]);

/** What a model is given. */
export function answerText(tool: string, answer: Answer, input: Answer): string {
  // It answers conflicts as they all stand; elsewhere they are what the caller was not told yet.
  if (tool === "file_status") return statusText(answer);
  const form = forms[tool] ?? ("edit" in answer && "version" in answer ? editText : asData);
  const { conflicts = [], unsaved = [], ...rest } = answer;
  return `${form(rest, input)}${conflictsText(conflicts)}${unsavedText(unsaved)}`;
}

const asData: Form = (answer) => JSON.stringify(answer);

/** What a program is given beside it. */
export function answerData(tool: string, answer: Answer): Answer {
  if (!saidByText.has(tool)) return answer;
  const { content: _content, diff: _diff, ...numbers } = answer;
  return numbers;
}

/** More than these are counted: a model would have no room for anything else. */
const SHOWN = { files: 200, conflicts: 20 };

/** What is as it should be is counted; a path alone may be one of several folders. */
function statusText({ files, conflicts }: Answer): string {
  const all = files as readonly Answer[];
  const odd = all.length === 1 ? all : all.filter(({ status }) => status !== "synced");
  const rows = odd
    .slice(0, SHOWN.files)
    .map(({ path, block_id: block, status, why }) =>
      words([named(path), block === undefined ? undefined : `(${text(block)})`, status, why]),
    );
  const synced = all.length - odd.length;
  if (odd.length > SHOWN.files) rows.push(more(odd.length - SHOWN.files, "are not synced either"));
  if (synced > 0)
    rows.push(odd.length === 0 ? `All ${synced} are synced.` : more(synced, "are synced"));
  if (all.length === 0) rows.push("No file has a block yet.");
  const open = conflicts as readonly Answer[];
  for (const each of open.slice(0, SHOWN.conflicts)) rows.push("", conflictText(each).trimEnd());
  if (open.length > SHOWN.conflicts)
    rows.push("", more(open.length - SHOWN.conflicts, "are in conflict: ask for one file"));
  return rows.join("\n");
}

function more(count: number, what: string): string {
  return `${count} more ${what}.`;
}

/** What is not on disk although the edit stands: whoever runs its tests next must know. */
function unsavedText(unsaved: unknown): string {
  return (unsaved as readonly Answer[])
    .map(({ path, why, unread }) =>
      unread === true
        ? `\n\nOnly the block was read. ${text(why)}`
        : `\n\nNot on disk: ${named(path)}. ${text(why)} The edit is kept, and its file is written as soon as it can be.`,
    )
    .join("");
}

function filesText({ files, after, unlisted = [] }: Answer): string {
  const rows = (files as readonly Answer[]).map(({ path, size, permission, status }) =>
    words([
      named(path),
      `${text(size)} bytes`,
      permission,
      status === "not_loaded" ? undefined : status,
    ]),
  );
  if (rows.length === 0) rows.push("No files.");
  for (const { path, reason } of unlisted as readonly Answer[])
    rows.push(
      `${named(path)} cannot be looked into (${text(reason)}): what it holds is missing here.`,
    );
  if (after !== undefined) rows.push(`There are more: pass after: ${quoted(text(after))}.`);
  return rows.join("\n");
}

function readText(answer: Answer, input: Answer): string {
  const { content, version, line_count, role, kind, status } = answer;
  const numbered = input["line_numbers"] === false ? "exact text" : "lines counted from 0";
  return `${named(input["block_id"])} version ${text(version)}, ${text(line_count)} lines, ${numbered} (${text(role)} ${text(kind)}, ${text(status)})\n${text(content)}`;
}

function editText(answer: Answer, input: Answer): string {
  const { block_id, path, version, edit, since, unchanged } = answer;
  // A file is called what the model called it.
  const name = text(block_id).startsWith("@") ? (input["block_id"] ?? path ?? block_id) : block_id;
  const what =
    unchanged === true
      ? `still version ${text(version)}: its text was that already`
      : `now version ${text(version)} (edit ${text(edit)})`;
  return `${named(name)} is ${what}.${sinceText(since)}`;
}

/** Closing it as it is now, and bringing a file back, are no Edits of its lines. */
function resolvedText({ path, version, edit }: Answer, { conflict }: Answer): string {
  const what =
    edit === undefined
      ? `${named(path)} is at version ${text(version)}, and block_undo does not open it again`
      : `${named(path)} is now version ${text(version)} (edit ${text(edit)})`;
  return `${text(conflict)} is resolved: ${what}.`;
}

function sinceText(since: unknown): string {
  return typeof since === "string" && since !== ""
    ? `\nOthers had changed it since you read it; your edit was merged with theirs:\n${since}`
    : "";
}

function listText({ blocks, truncated, after }: Answer): string {
  const rows = (blocks as readonly Answer[]).map((block) =>
    words([
      block["block_id"],
      words([block["role"], block["kind"], block["status"]], " "),
      block["version"] === null ? undefined : `v${text(block["version"])}`,
      block["parent_id"] === null ? undefined : `below ${text(block["parent_id"])}`,
      named(block["path"]),
      contentOf(block),
    ]),
  );
  if (rows.length === 0) return "No blocks.";
  if (truncated === true) rows.push(`There are more: pass after: ${quoted(text(after))}.`);
  return rows.join("\n");
}

function contentOf({ quarantined, denied, summary }: Answer): string {
  if (quarantined !== undefined) return `cannot be read: ${text(quarantined)}`;
  if (denied !== undefined) return `may not be read: ${text(denied)}`;
  return JSON.stringify(summary);
}

function historyText({ versions, before, gaps }: Answer, { block_id }: Answer): string {
  const rows = (versions as readonly Answer[]).map((entry) => {
    const size = `+${text(entry["inserted"])} -${text(entry["removed"])}`;
    const when = new Date(Number(entry["time"])).toISOString();
    const why = entry["message"] === undefined ? "" : `  ${JSON.stringify(entry["message"])}`;
    return `version ${text(entry["version"])}  ${when}  ${text(entry["actor"])}  ${text(entry["kind"])} ${size}  edit ${text(entry["edit"])}${why}`;
  });
  if (before !== undefined) rows.push(`Older ones: pass before: ${text(before)}.`);
  if (gaps !== undefined) rows.push(`Purged for good: ${JSON.stringify(gaps)}`);
  return [`${named(block_id)}, newest first:`, ...rows].join("\n");
}

function blameText({ version, runs }: Answer): string {
  const rows = (runs as readonly Answer[]).map((run) => {
    const { start_line: first, end_line: last, actor, edit, message } = run;
    const why = message === undefined ? "" : ` ${JSON.stringify(message)}`;
    return `${text(first)}-${text(last)} ${text(actor)} (edit ${text(edit)}${why}): ${JSON.stringify(run["text"])}`;
  });
  return [`version ${text(version)}, lines counted from 0, both ends included:`, ...rows].join(
    "\n",
  );
}

function nothingIn({ kinds }: Answer, input: Answer): string {
  if (input["kinds"] === undefined)
    return "Nothing found in files; pass kinds (text, thinking, …) to look at other blocks";
  return `Nothing found in blocks of kind ${(kinds as readonly string[]).join(", ")}`;
}

/** As grep prints: a colon where it matched, a dash around. */
function foundText(blocks: readonly Answer[], answer: Answer, nothing: string): string {
  const rows = blocks
    .filter(({ matches }) => (matches as readonly Answer[]).length > 0)
    .flatMap(({ block_id, path, version, matches, truncated }) => [
      version === undefined
        ? `${named(block_id)} (no block yet)`
        : words([named(block_id), `version ${text(version)}`, named(path)]),
      ...(matches as readonly Answer[]).flatMap(matchLines),
      ...(truncated === true ? ["(more in this block)"] : []),
    ]);
  const unreadable = (answer["unreadable"] ?? []) as readonly Answer[];
  return [
    ...(rows.length === 0 ? [`${nothing}.`] : rows),
    ...unreadable.map(
      ({ block_id, why }) => `${named(block_id)} could not be searched: ${text(why)}`,
    ),
    ...(answer["truncated"] === true ? ["There is more than is shown."] : []),
    ...(answer["timed_out"] === true
      ? ["The expression took too long: this is what was found until then."]
      : []),
    ...indexingText(answer["indexing"] as Answer | undefined),
  ].join("\n");
}

function indexingText(indexing: Answer | undefined): string[] {
  if (indexing === undefined) return [];
  const { done, of } = indexing;
  return [`Still being indexed: ${text(done)} of ${text(of)} files were searched. Ask again soon.`];
}

function matchLines({ line, content, before, after }: Answer): string[] {
  const at = Number(line);
  const earlier = before as readonly string[];
  const later = after as readonly string[];
  return [
    ...earlier.map((each, index) => `${at - earlier.length + index}- ${each}`),
    `${at}: ${text(content)}`,
    ...later.map((each, index) => `${at + 1 + index}- ${each}`),
  ];
}

function patchText({ success, dry_run, edit, files }: Answer): string {
  const rows = (files as readonly Answer[]).map((file) => {
    const { path, block_id, version, since, error } = file;
    const hunks = file["hunks"] as readonly Answer[];
    const name = path === null ? named(block_id) : `${named(block_id)} (${named(path)})`;
    if (error !== undefined)
      return `${name} cannot be patched: ${text((error as Answer)["message"])}`;
    const done = isUntouched(file) ? "is as it was" : `is now version ${text(version)}`;
    const what = dry_run === true ? "can be patched" : done;
    const lines = hunks.map(({ line }) => text(line)).join(", ");
    const places = lines === "" ? "" : `; hunks at lines ${lines} (counted from 0)`;
    const mode = file["mode_kept"] === true ? " Its mode is not changed: use chmod." : "";
    return `${name} ${what}${becoming(file, dry_run === true)}${places}.${mode}${sinceText(since)}`;
  });
  const head =
    dry_run === true
      ? `Nothing was changed: ${success === true ? "the patch fits" : "the patch does not fit"}.`
      : (files as readonly Answer[]).every(isUntouched)
        ? "Nothing was changed."
        : `Patched (edit ${text(edit)}).`;
  return [head, ...rows].join("\n");
}

/** Of a patch for its mode alone. */
function isUntouched({ hunks, created, deleted, moved_to }: Answer): boolean {
  const isText = (hunks as readonly Answer[]).length > 0;
  return !isText && created === undefined && deleted === undefined && moved_to === undefined;
}

/** What becomes of a whole file when what an Edit did to it is taken back, or done again. */
const flips = {
  Undid: { moves: "was moved back", deletes: "is there again" },
  "Brought back": { moves: "was moved again", deletes: "is deleted again" },
};

/** What becomes of a whole file. */
function becoming({ deleted, moved_to: to }: Answer, dry: boolean): string {
  if (deleted === true)
    return dry ? " and deleted" : " and was deleted (block_undo brings it back)";
  if (to === undefined) return "";
  return ` and ${dry ? "" : "was "}moved to ${named(to)}`;
}

function flipText(what: keyof typeof flips, { edit, flipped, actor, blocks }: Answer): string {
  const rows = (blocks as readonly Answer[]).flatMap(
    ({ block_id, path, version, diff, stayed, file, made, back }) => [
      ...(made === false ? [`${named(path)} is deleted: that Edit had made it.`] : []),
      ...(made === true ? [`${named(path)} is there again.`] : []),
      ...(back === true ? [`${named(path)} had been deleted; it is there again.`] : []),
      ...(file === undefined
        ? []
        : [`${named(path)} ${flips[what][file as "moves" | "deletes"]}.`]),
      `${named(path ?? block_id)} is now version ${text(version)}${diff === "" ? ", its text is unchanged" : ":"}`,
      ...(diff === "" ? [] : [text(diff)]),
      ...(Number(stayed) > 0
        ? [
            `${text(stayed)} characters of it stay as they are: other Edits have removed or replaced them since.`,
          ]
        : []),
    ],
  );
  const nothing = (blocks as readonly Answer[]).every(isAsBefore)
    ? " No text changed by that."
    : "";
  const head = `${what} ${text(flipped)} of ${text(actor)} (edit ${text(edit)}).${nothing}`;
  return [head, ...rows].join("\n");
}

function isAsBefore({ diff, file, made, back }: Answer): boolean {
  return diff === "" && file === undefined && made === undefined && back === undefined;
}
