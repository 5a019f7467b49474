import { expect, it } from "vitest";
import type { Terminal } from "../terminal.ts";
import { printAnswer } from "./tool-answer.ts";

/** A terminal of which only what is printed matters. */
function printing(): { readonly printed: string[]; readonly terminal: Terminal } {
  const printed: string[] = [];
  const print: Terminal["print"] = async (text) => void printed.push(text);
  return { printed, terminal: { print } as Pick<Terminal, "print"> as Terminal };
}

it("names a file that is not on disk by its path, which stands in the place of its block", async () => {
  const { printed, terminal } = printing();
  const unsaved = [{ block_id: "src/a.ts", why: "The disk is full." }];
  const answer = { block_id: "src/a.ts", version: 2, edit: "e1", since: "", unsaved };
  await printAnswer(terminal, "block_replace", {}, answer);
  expect(printed.join("")).toContain("src/a.ts is not on disk as it should be: The disk is full.");
});

it("writes a name in one line, whatever is in it", async () => {
  const { printed, terminal } = printing();
  const name = "a\n\u001b[2Jb.ts";
  await printAnswer(
    terminal,
    "block_replace",
    {},
    { block_id: name, version: 2, edit: "e1-2", since: "" },
  );
  const file = { path: name, size: 1, permission: "read_write", status: "synced" };
  await printAnswer(terminal, "file_list", {}, { files: [file] });
  const lines = printed.join("").trimEnd().split("\n");
  expect(lines).toHaveLength(2);
  for (const line of lines) expect(line).toContain("a\\n\\u001b[2Jb.ts");
});

it("says that a patch for a mode alone leaves the file as it was", async () => {
  const { printed, terminal } = printing();
  const file = { path: "a.sh", block_id: "a.sh", version: 1, since: "", hunks: [] };
  const answer = { success: true, dry_run: false, files: [{ ...file, mode_kept: true }] };
  await printAnswer(terminal, "block_apply_patch", {}, answer);
  expect(printed.join("")).toBe(
    "a.sh  a.sh is as it was\n  its mode is not changed: chmod does that\n",
  );
});

it("prints the conflicts that a caller is told of beside what it asked for", async () => {
  const { printed, terminal } = printing();
  const side = (text: string) => ({ start: 0, end: 1, text });
  const conflict = {
    conflict: "c1",
    block_id: "a.txt",
    version: 3,
    stood: "memory",
    theirs: "claude",
    mine: ["codex"],
    base: side("two\n"),
    disk: side("claude's\n"),
    memory: side("codex's\n"),
  };
  const answer = { block_id: "a.txt", version: 3, edit: "e1", since: "", conflicts: [conflict] };
  await printAnswer(terminal, "block_replace", {}, answer);
  expect(printed.join("")).toContain("c1  a.txt  version 3; memory's lines stand there now");
  expect(printed.join("")).toContain("disk (claude)\n     1 | claude's");
});

it("names the files that a save of all left out, and why", async () => {
  const { printed, terminal } = printing();
  const left_out = [{ block_id: "log.txt", why: "ann may not change log.txt: it is so." }];
  await printAnswer(terminal, "file_save", {}, { saved: [], left_out });
  expect(printed.join("")).toBe("log.txt is not saved: ann may not change log.txt: it is so.\n");
});
