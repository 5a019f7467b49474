import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stdioClient } from "../bench/support/mcp-stdio.ts";
import { startServer } from "../src/app/server.ts";
import { Pipe } from "./support/pipe.ts";
import { root } from "./support/process.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

/** An agent in a folder with files, and the text that it is given. */
async function agentIn(
  place: string,
  files: { readonly [path: string]: string },
  ...args: readonly string[]
) {
  const folder = join(place, "project");
  mkdirSync(folder);
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text);
  const command = [join(root, "bin", "kumiko"), "mcp", "--home", join(place, "home"), ...args];
  const client = await stdioClient(command, folder);
  const text = async (tool: string, input: object): Promise<string> => {
    const answer = await client.call(tool, input as { readonly [name: string]: unknown });
    return (answer["content"] as { text: string }[])[0]!.text;
  };
  const end = (): PromiseLike<void> => client[Symbol.asyncDispose]();
  return { folder, text, [Symbol.asyncDispose]: end };
}

test("an agent works on the files of the folder it was started in, and is held to the rules for agents", async () => {
  using place = temporaryFolder();
  const files = { "a.txt": "one\ntwo\nthree\n", ".env": "SECRET=1\n" };
  await using agent = await agentIn(place.path, files);
  const { folder, text } = agent;
  const file = join(folder, "a.txt");
  expect(await text("file_list", {})).toContain("a.txt  14 bytes  read_write");
  expect(await text("block_read", { block_id: "a.txt" })).toContain("two");
  const operations = [{ op: "replace", start_line: 1, end_line: 2, content: "TWO" }];
  // It is called what the agent called it.
  expect(await text("block_edit", { block_id: "a.txt", operations })).toMatch(
    /^a\.txt is now version 2 /,
  );
  expect(readFileSync(file, "utf8")).toBe("one\nTWO\nthree\n");
  writeFileSync(file, "one\nTWO\nthree\nfour\n");
  const insert = [{ op: "insert", line: 0, content: "zero" }];
  expect(await text("block_edit", { block_id: "a.txt", operations: insert })).toContain("+four");
  expect(readFileSync(file, "utf8")).toBe("zero\none\nTWO\nthree\nfour\n");
  expect(await text("block_undo", {})).toContain("\na.txt is now version 5:");
  // The token is its owner's, a person's; whoever speaks MCP is an agent all the same.
  await expect(text("block_read", { block_id: ".env" })).rejects.toThrow(/secret|\.env/);
  const unknown = text("file_resolve", { conflict: "c9", choice: "mine" });
  await expect(unknown).rejects.toThrow(/no conflict c9.*file_status lists/);
  await expect(unknown).rejects.not.toThrow("Copy the text");
  await expect(text("block_read", { block_id: "b.txt" })).rejects.toThrow("Did you mean a.txt?");
  expect(await text("file_create", { path: "new/b.txt", content: "made\n" })).toContain("on disk");
  expect(readFileSync(join(folder, "new/b.txt"), "utf8")).toBe("made\n");
  // What it made itself, and nobody wrote to, is its own to take back.
  expect(await text("block_undo", {})).toContain("new/b.txt");
  expect(existsSync(join(folder, "new/b.txt"))).toBe(false);
});

test("an agent is told what became of whole files by its patch, and by undoing and redoing it", async () => {
  using place = temporaryFolder();
  const rules = '[[rule]]\npath = "**"\nlevel = "admin"\n';
  const files = { "kumiko.toml": rules, "old.txt": "old\n", "a.txt": "one\ntwo\n" };
  await using agent = await agentIn(place.path, files, "--tools", "all");
  const { folder, text } = agent;
  const isThere = (path: string): boolean => existsSync(join(folder, path));
  const patch = [
    "diff --git a/old.txt b/old.txt\ndeleted file mode 100644\n--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n",
    "diff --git a/a.txt b/b.txt\nsimilarity index 100%\nrename from a.txt\nrename to b.txt\n",
  ].join("");
  const tried = await text("block_apply_patch", { patch, dry_run: true });
  expect(tried).toContain("(old.txt) can be patched and deleted; hunks at lines 0 ");
  expect(tried).toContain("(a.txt) can be patched and moved to b.txt.");
  const done = await text("block_apply_patch", { patch });
  expect(done).toMatch(
    /\(old\.txt\) is now version \d+ and was deleted \(block_undo brings it back\);/,
  );
  expect(done).toMatch(/\(a\.txt\) is now version \d+ and was moved to b\.txt\./);
  expect(["old.txt", "a.txt", "b.txt"].map(isThere)).toEqual([false, false, true]);
  const undone = await text("block_undo", {});
  expect(undone).toContain("\nold.txt is there again.");
  expect(undone).toContain("\na.txt was moved back.");
  expect(["old.txt", "a.txt", "b.txt"].map(isThere)).toEqual([true, true, false]);
  const redone = await text("block_redo", {});
  expect(redone).toContain("\nold.txt is deleted again.");
  expect(redone).toContain("\nb.txt was moved again.");
  expect(["old.txt", "a.txt", "b.txt"].map(isThere)).toEqual([false, false, true]);
});

test.each(["without", "with"])(
  "edits that an agent sends together all mean what it had read (%s another server)",
  async (servers) => {
    using place = temporaryFolder();
    const home = join(place.path, "home");
    const lines = Array.from({ length: 40 }, (_, at) => `line ${at}`);
    const text = `${lines.join("\n")}\n`;
    await using serving = new AsyncDisposableStack();
    if (servers === "with") serving.use(await startServer({ home }));
    writeFileSync(join(place.path, "a.txt"), text);
    await using agent = new Pipe(home, place.path, "--actor", "claude");
    await agent.begin();
    await agent.call("block_create", { role: "user", kind: "text", content: text });
    for (const block_id of ["a.txt", "main~claude~1"]) {
      await agent.call("block_read", { block_id });
      agent.process.stdin.cork();
      const edits = lines.map((line, at) => {
        const operation = { start_line: at, end_line: at + 1, content: `${line}!\nbelow` };
        const operations = [{ op: "replace", ...operation }];
        return agent.call("block_edit", { block_id, operations });
      });
      agent.process.stdin.uncork();
      for (const { result } of await Promise.all(edits))
        expect(result?.["isError"], JSON.stringify(result)).toBeUndefined();
      const { result } = await agent.call("block_read", { block_id, line_numbers: false });
      const read = (result!["content"] as { text: string }[])[0]!.text;
      expect(read).toContain(lines.map((line) => `${line}!\nbelow\n`).join(""));
    }
  },
);
