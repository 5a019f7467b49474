import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stdioClient } from "../bench/support/mcp-stdio.ts";
import { root } from "./support/process.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

test("an agent works on the files of the folder it was started in, and is held to the rules for agents", async () => {
  using place = temporaryFolder();
  const folder = join(place.path, "project");
  mkdirSync(folder);
  const file = join(folder, "a.txt");
  writeFileSync(file, "one\ntwo\nthree\n");
  writeFileSync(join(folder, ".env"), "SECRET=1\n");
  const command = [join(root, "bin", "kumiko"), "mcp", "--home", join(place.path, "home")];
  await using client = await stdioClient(command, folder);
  const text = async (tool: string, input: object): Promise<string> => {
    const answer = await client.call(tool, input as { readonly [name: string]: unknown });
    return (answer["content"] as { text: string }[])[0]!.text;
  };
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
