import { expect, it } from "vitest";
import { answerText } from "./tool-text.ts";

const file = { path: "a.sh", block_id: "@p~disk~1", version: 1, since: "", hunks: [] };

it("says that a patch changed nothing when it is for a mode alone", () => {
  const patched = { success: true, dry_run: false, edit: "e1", files: [file] };
  const told = { ...patched, files: [{ ...file, mode_kept: true }] };
  expect(answerText("block_apply_patch", told, {})).toBe(
    "Nothing was changed.\n@p~disk~1 (a.sh) is as it was. Its mode is not changed: use chmod.",
  );
  const made = { ...patched, files: [{ ...file, created: true }] };
  expect(answerText("block_apply_patch", made, {})).toMatch(/^Patched .*\n.* is now version 1/);
});

it("says of an undo that a file is there again, or that no text changed", () => {
  const block = { block_id: "@p~disk~1", path: "a.sh", version: 4, diff: "", stayed: 0 };
  const undone = { edit: "e2-undoes-e1", flipped: "e1", actor: "ann", blocks: [block] };
  expect(answerText("block_undo", undone, {})).toMatch(
    /^Undid e1 .* No text changed by that\.\na\.sh is now version 4, its text is unchanged$/,
  );
  const back = { ...undone, blocks: [{ ...block, back: true }] };
  expect(answerText("block_undo", back, {})).toMatch(
    /^Undid e1 of ann \(edit \S+\)\.\na\.sh had been deleted; it is there again\.\n/,
  );
});

it("says of a conflict whose lines stand, and which of the reader's do not", () => {
  const conflict = {
    conflict: "c1",
    path: "a.txt",
    theirs: "claude",
    mine: ["codex"],
    memory: { text: "codex's\n" },
    disk: { text: "claude's\n" },
  };
  const said = (more: object): string => {
    const answer = { path: "a.txt", status: "conflict", conflicts: [{ ...conflict, ...more }] };
    return answerText("file_merge", answer, {});
  };
  const head = '{"path":"a.txt","status":"conflict"}\n\nConflict c1 in a.txt: ';
  expect(said({ stood: "memory", lost: "claude's\n" })).toBe(
    `${head}codex changed the same lines, and these of yours do not stand there now; decide with file_resolve:\nclaude's\n`,
  );
  expect(said({ stood: "disk", lost: "codex's\n" })).toBe(
    `${head}claude changed the same lines, and these of yours do not stand there now; decide with file_resolve:\ncodex's\n`,
  );
  expect(said({ stood: "disk", gone: true, theirs: "disk", lost: "codex's\n" })).toBe(
    `${head}the file was deleted before these lines of yours were saved; decide with file_resolve:\ncodex's\n`,
  );
  expect(said({ stood: "nobody", lost: "claude's\n", memory: { text: "" } })).toBe(
    `${head}both sides changed the same lines, and the file is not written until somebody decides with file_resolve.\n` +
      "disk, by claude:\nclaude's\nmemory, by codex:\n(no lines)\n",
  );
});

it("names no edit of a conflict that was resolved without one", () => {
  const answer = { path: "a.txt", block_id: "@p~disk~1", version: 10, edit: undefined };
  const asked = { conflict: "c1", choice: "now" };
  expect(answerText("file_resolve", answer, asked)).toBe(
    "c1 is resolved: a.txt is at version 10, and block_undo does not open it again.",
  );
  expect(answerText("file_resolve", { ...answer, edit: "e1" }, asked)).toBe(
    "c1 is resolved: a.txt is now version 10 (edit e1).",
  );
});

it("writes a path in one line, as a JSON string where it could be misread", () => {
  const names = ["plain.txt", "a b\\c.txt", "a\n\u001b[2J\u009b.txt", '"a".txt', "a.txt ", "a  b"];
  const rows = (...all: readonly string[]): string[] => {
    const files = all.map((path) => ({ path, size: 1, permission: "admin", status: "synced" }));
    return answerText("file_list", { mount: "p", files }, {}).split("\n");
  };
  expect(rows(...names)).toHaveLength(names.length);
  for (const [at, name] of names.entries()) {
    const shown = rows(...names)[at]!.replace(/ {2}1 bytes {2}admin {2}synced$/, "");
    expect(shown).not.toMatch(/\p{Cc}/u);
    // What is not quoted is the name itself.
    expect(shown.startsWith('"') ? JSON.parse(shown) : shown).toBe(name);
  }
  expect(rows("a b\\c.txt")[0]).toMatch(/^a b\\c\.txt {2}/);
  const [name, shown] = ["a\nb.txt", '"a\\nb.txt"'];
  const about = { block_id: "@p~disk~1", path: name, version: 2, edit: "e1" };
  const unsaved = [{ path: name, why: "The disk is full." }];
  const told: readonly (readonly [string, { [name: string]: unknown }])[] = [
    ["block_edit", { ...about, unsaved }],
    ["file_create", about],
    ["file_resolve", about],
    ["block_list", { blocks: [{ ...about, parent_id: null, summary: "" }] }],
    ["kernel_search", { blocks: [{ ...about, matches: [{ line: 0, before: [], after: [] }] }] }],
    ["block_apply_patch", { files: [{ ...file, block_id: name, path: name, moved_to: name }] }],
    ["block_undo", { blocks: [{ ...about, diff: "", stayed: 0, made: false, file: "moves" }] }],
  ];
  for (const [tool, answer] of told) {
    const said = answerText(tool, answer, { block_id: name });
    expect(said).toContain(shown);
    expect(said).not.toContain(name);
  }
});

it("says how files stand by those that do not stand well, as many as there is room for", () => {
  const standing = (at: number, status: string) => {
    return { path: `${at}.txt`, block_id: `@src~file~${at}`, status };
  };
  const said = (files: object[], conflicts: object[] = []) =>
    answerText("file_status", { files, conflicts }, {});
  expect(said([])).toBe("No file has a block yet.");
  expect(said([standing(1, "synced")])).toBe("1.txt  (@src~file~1)  synced");
  expect(said([standing(1, "synced"), standing(2, "synced")])).toBe("All 2 are synced.");
  const ahead = { ...standing(3, "block_ahead"), why: "the disk is full" };
  expect(said([standing(1, "synced"), ahead, standing(2, "synced")])).toBe(
    "3.txt  (@src~file~3)  block_ahead  the disk is full\n2 more are synced.",
  );
  const many = Array.from({ length: 205 }, (_, at) => standing(at, "conflict"));
  const conflict = (at: number) => ({
    conflict: `c${at}`,
    path: `${at}.txt`,
    block_id: `@src~file~${at}`,
    version: 4,
    stood: "disk",
    theirs: "disk",
    mine: ["codex"],
    memory: { text: "codex's\n" },
    disk: { text: "" },
  });
  const lines = said(
    many,
    many.slice(0, 25).map((_, at) => conflict(at)),
  ).split("\n");
  expect(lines.slice(199, 203)).toEqual([
    "199.txt  (@src~file~199)  conflict",
    "5 more are not synced either.",
    "",
    "Conflict c0 in 0.txt (@src~file~0, version 4): disk's lines stand there now; decide with file_resolve.",
  ]);
  expect(lines.slice(203, 208)).toEqual([
    "disk, by disk:",
    "(no lines)",
    "memory, by codex:",
    "codex's",
    "",
  ]);
  expect(lines.at(-1)).toBe("5 more are in conflict: ask for one file.");
});
