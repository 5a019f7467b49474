import { describe, expect, test, vi } from "vitest";
import { LiveDocuments } from "../src/kernel/live-documents.ts";
import { type Answer, Mounted } from "./support/mounted.ts";
import { refusalOf } from "./support/refusal.ts";

const LIMIT = 3;
const THREE = "one\ntwo\nthree\n";
const CHANGED = "one\nTWO\nthree\n";
const MANUAL = '[mount]\nsave = "manual"\n';
const ann = { actor: "ann", kind: "person" } as const;
const paths = Array.from({ length: 12 }, (_, at) => `f${at}.txt`);
const files = Object.fromEntries(paths.map((path) => [path, THREE]));

interface Unloading extends AsyncDisposable {
  readonly mounted: Mounted;
  /** The Edit that changed a file. */
  editOf(path: string): string;
  /** Those whose documents are in memory, in the order of their names. */
  live(): string[];
}

async function writersOf(mounted: Mounted, path: string): Promise<string[]> {
  const { runs } = await mounted.call<{ runs: Answer[] }>("block_blame", { block_id: path });
  return runs.map(({ actor, text }) => `${String(actor)}: ${String(text)}`);
}

/** Many files, all changed at once by an agent, in a kernel that keeps few documents in memory. */
async function unloading(more: { [path: string]: string } = {}): Promise<Unloading> {
  const closed = vi.spyOn(LiveDocuments.prototype, "close");
  const mounted = await Mounted.with({ ...files, ...more }, { liveDocuments: LIMIT });
  const edits = await Promise.all(
    paths.map((path) => mounted.call("block_replace", { block_id: path, old: "two", new: "TWO" })),
  );
  // What was on its way to the journal is let go with the next use of any.
  await writersOf(mounted, paths.at(-1)!);
  return {
    mounted,
    editOf: (path) => String(edits[paths.indexOf(path)]!["edit"]),
    live() {
      const documents = closed.mock.contexts.at(-1) as LiveDocuments;
      const { source } = mounted.mounts.first();
      const isLive = (path: string) => documents.peek(source.files.at(path)!.block) !== undefined;
      const found = paths.filter(isLive).toSorted();
      expect(documents.size).toBe(found.length);
      return found;
    },
    async [Symbol.asyncDispose]() {
      closed.mockRestore();
      await mounted[Symbol.asyncDispose]();
    },
  };
}

describe("files whose documents were let go", () => {
  test("are the longest unused, and are changed, merged, undone and blamed as any other", async () => {
    await using many = await unloading();
    const { mounted } = many;
    expect(many.live()).toHaveLength(LIMIT);
    expect(paths.map((path) => mounted.read(path))).toEqual(paths.map(() => CHANGED));
    const [onDisk, older, undone, blamed, another] = paths.filter(
      (path) => !many.live().includes(path),
    ) as [string, string, string, string, string];

    mounted.write(onDisk, "ONE\nTWO\nthree\n");
    expect(await mounted.text(onDisk)).toBe("ONE\nTWO\nthree\n");

    const operations = [{ op: "insert", line: 3, content: "four" }];
    const edit = { block_id: older, base_version: 1, operations };
    expect((await mounted.call("block_edit", edit, ann))["since"]).toContain("+TWO");
    expect(mounted.read(older)).toBe(`${CHANGED}four\n`);
    const same = [{ op: "replace", start_line: 1, end_line: 2, content: "2" }];
    const clash = mounted.call("block_edit", { ...edit, operations: same }, ann);
    expect((await refusalOf(clash)).code).toBe("conflict");

    await mounted.call("block_undo", { edit: many.editOf(undone) });
    expect(mounted.read(undone)).toBe(THREE);

    expect(await writersOf(mounted, blamed)).toEqual([
      "disk: one\n",
      "claude: TWO",
      "disk: \nthree\n",
    ]);
    expect(many.live()).toEqual([older, undone, blamed].toSorted());

    // To use one again keeps it: another goes.
    expect(await writersOf(mounted, older)).toContain("ann: four\n");
    expect(await writersOf(mounted, another)).toContain("claude: TWO");
    expect(many.live()).toEqual([older, blamed, another].toSorted());
    expect(await writersOf(mounted, onDisk)).toEqual([
      "disk: ONE",
      "disk: \n",
      "claude: TWO",
      "disk: \nthree\n",
    ]);
  });

  test("keep what was not saved, and what was still streaming in", async () => {
    await using many = await unloading({ "kumiko.toml": MANUAL });
    const { mounted } = many;
    expect(many.live()).toHaveLength(LIMIT);
    for (const path of paths)
      await mounted.call("block_append", { block_id: path, text: "four\n" });
    const [moved] = paths;
    mounted.write(moved!, `zero\n${THREE}`);
    expect(await mounted.text(moved!)).toBe(`zero\n${CHANGED}four\n`);
    const { files: known } = await mounted.call<{ files: Answer[] }>("file_status", {});
    expect(known.map(({ status }) => status)).toEqual(paths.map(() => "block_ahead"));
    expect(mounted.read("f5.txt")).toBe(THREE);
    await mounted.call("file_save", {}, ann);
    expect(paths.map((path) => mounted.read(path))).toEqual(
      paths.map((path) => `${path === moved ? "zero\n" : ""}${CHANGED}four\n`),
    );
  });

  test("are not let go while something of theirs is on its way", async () => {
    await using many = await unloading();
    const { mounted } = many;
    const lines = ["one", "three", "TWO"];
    const edits = lines.flatMap((old) =>
      paths.map((path) => mounted.call("block_replace", { block_id: path, old, new: `${old}!` })),
    );
    await Promise.all(edits);
    for (const path of paths) {
      expect(mounted.read(path)).toBe("one!\nTWO!\nthree!\n");
      expect(await mounted.text(path)).toBe(mounted.read(path));
    }
  });
});
