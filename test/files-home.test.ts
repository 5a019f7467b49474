import { readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { subscribe } from "../src/files/subscription.ts";
import { Ignored } from "../src/files/ignored.ts";
import { scan } from "../src/files/scan.ts";
import { Mounted } from "./support/mounted.ts";
import { refusalOf } from "./support/refusal.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import { Watched } from "./support/writers.ts";

const HOME = "data/kumiko";
const ann = { actor: "ann", kind: "person" } as const;

describe("a home that lies in a folder that is mounted", () => {
  it("is no part of it: not listed, not read, not written, by whichever path", async () => {
    await using mounted = await Mounted.with(
      { "data/mine.txt": "mine\n", "a.txt": "one\n" },
      { home: HOME, watch: true },
    );
    await mounted.mounts.watched();
    symlinkSync(HOME, mounted.path("link"));
    symlinkSync(`${HOME}/folders.json`, mounted.path("direct"));
    for (const ignored of [false, true]) {
      const { files } = await mounted.call<{ files: { path: string }[] }>("file_list", { ignored });
      const paths = files.map(({ path }) => path);
      expect(paths).toEqual(["a.txt", "data/mine.txt", "direct", "link"]);
    }
    const there = readdirSync(mounted.home);
    expect(there).toContain("folders.json");
    const ways = [`${HOME}/folders.json`, join(mounted.home, "folders.json"), "direct"];
    for (const path of [...ways, "link/folders.json", `data/../${HOME}/folders.json`, HOME]) {
      for (const tool of ["file_load", "file_create", "file_delete", "file_diff", "file_status"]) {
        const error = await refusalOf(mounted.call(tool, { path }, ann));
        expect([tool, path, error.code]).toEqual([tool, path, "invalid_argument"]);
        expect(error.message).toContain("Kumiko's own");
      }
      const read = await refusalOf(mounted.call("block_read", { block_id: path }, ann));
      expect(read.code).toBe("invalid_argument");
    }
    const made = await refusalOf(mounted.call("file_create", { path: `${HOME}/new.txt` }, ann));
    expect(made.code).toBe("invalid_argument");
    const moved = { path: "a.txt", to: `${HOME}/a.txt` };
    expect((await refusalOf(mounted.call("file_move", moved, ann))).code).toBe("invalid_argument");
    expect(readdirSync(mounted.home)).toEqual(there);
    // Everything else is as ever.
    expect(await mounted.text("data/mine.txt")).toBe("mine\n");
  });

  it("cannot be mounted itself", async () => {
    await using mounted = await Mounted.with({ "a.txt": "one\n" }, { home: "." });
    const error = await refusalOf(mounted.call("block_read", { block_id: "a.txt" }, ann));
    expect([error.code, error.message]).toEqual([
      "invalid_argument",
      expect.stringContaining("mount another folder"),
    ]);
  });

  it("is neither looked into nor watched", async () => {
    using folder = temporaryFolder();
    folder.write("data/mine.txt", "mine\n");
    folder.write(`${HOME}/kernels/main/state.db`, "1");
    const ignored = new Ignored(folder.path, { own: HOME });
    const seen: string[] = [];
    for await (const entries of scan(folder.path, { ignored }))
      seen.push(...entries.map(({ path }) => path));
    expect(seen.toSorted()).toEqual(["data", "data/mine.txt"]);
    const leftOut: string[][] = [];
    await using watched = await Watched.start(folder.path, {
      ignored,
      subscribe: (root, options) => {
        leftOut.push([...options.leftOut]);
        return subscribe(root, options);
      },
    });
    expect(leftOut.at(-1)).toEqual([HOME]);
    writeFileSync(join(folder.path, HOME, "kernels/main/state.db"), "2");
    folder.write(`${HOME}/more/x`, "x");
    await watched.settled("end");
    expect(watched.changed).toEqual(["end"]);
    expect([...watched.watch.stamps()].map(([path]) => path).toSorted()).toEqual([
      "data/mine.txt",
      "end",
    ]);
  });
});
