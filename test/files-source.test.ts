import { existsSync, renameSync, rmSync, utimesSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { KumikoError } from "../src/base/index.ts";
import { type Answer, Mounted } from "./support/mounted.ts";

const THREE = "one\ntwo\nthree\n";
const ann = { actor: "ann", kind: "person" } as const;
const claude = { actor: "claude", kind: "agent" } as const;
const codex = { actor: "codex", kind: "agent" } as const;

const replaced = (line: number, content: string) => ({
  operations: [{ op: "replace", start_line: line, end_line: line + 1, content }],
});

async function refused(call: Promise<unknown>): Promise<KumikoError> {
  const error: unknown = await call.then(
    () => undefined,
    (each: unknown) => each,
  );
  if (!(error instanceof KumikoError)) throw new Error(`not refused: ${String(error)}`);
  return error;
}

describe("a file of a mounted folder", () => {
  it("is edited by path, on disk before the answer, blamed and undone", async () => {
    await using mounted = await Mounted.with({ "src/a.txt": THREE });
    expect(await mounted.text("src/a.txt")).toBe(THREE);
    const { block_id, edit } = await mounted.call("block_edit", {
      block_id: "src/a.txt",
      ...replaced(1, "TWO"),
    });
    expect(mounted.read("src/a.txt")).toBe("one\nTWO\nthree\n");
    expect(block_id).toMatch(/^@project~file~\d+$/);
    const { runs } = await mounted.call<{ runs: { actor: string }[] }>("block_blame", {
      block_id: "src/a.txt",
    });
    expect(runs.map(({ actor }) => actor)).toEqual(["disk", "claude", "disk"]);
    await mounted.call("block_undo", { edit });
    expect(mounted.read("src/a.txt")).toBe(THREE);
    await mounted.call("block_redo", {});
    expect(mounted.read("src/a.txt")).toBe("one\nTWO\nthree\n");
    await mounted.call("block_rollback", { block_id: "src/a.txt", version: 1 });
    expect(mounted.read("src/a.txt")).toBe(THREE);
  });

  it("shows what others wrote to disk, once, as theirs, and merges it with what was read before", async () => {
    await using mounted = await Mounted.with({ "a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n" });
    await mounted.text("a.txt");
    mounted.write("a.txt", "1\n2\n3\n4\n5\n6\n7\nEIGHT\n");
    const { since } = await mounted.call<{ since: string }>("block_edit", {
      block_id: "a.txt",
      ...replaced(0, "ONE"),
    });
    expect(since).toContain("+EIGHT");
    expect(mounted.read("a.txt")).toBe("ONE\n2\n3\n4\n5\n6\n7\nEIGHT\n");
    const { runs } = await mounted.call<{ runs: { actor: string }[] }>("block_blame", {
      block_id: "a.txt",
    });
    expect(new Set(runs.map(({ actor }) => actor))).toEqual(new Set(["claude", "disk"]));
    const { versions } = await mounted.call<{ versions: { actor: string }[] }>("block_history", {
      block_id: "a.txt",
    });
    expect(versions.map(({ actor }) => actor)).toEqual(["claude", "disk", "disk"]);
  });

  it("is changed where a call means that is made before another is answered, however far that is", async () => {
    await using mounted = await Mounted.with({});
    for (let turns = 0, answered = false; !answered; turns++) {
      const path = `${turns}.txt`;
      mounted.write(path, "one\ntwo\nthree\n");
      await mounted.text(path);
      const edit = (at: number, content: string): Promise<unknown> => {
        const operations = [{ op: "replace", start_line: at, end_line: at + 1, content }];
        return mounted.call("block_edit", { block_id: path, operations });
      };
      const first = edit(0, "above\none").then(() => (answered = true));
      for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
      // What comes behind an answer means what that told of.
      const isBehind: boolean = answered;
      await Promise.all([first, edit(isBehind ? 2 : 1, "below\nTWO")]);
      const told = `${turns} turns behind the first, ${isBehind ? "" : "not "}answered`;
      expect(mounted.read(path), told).toBe("above\none\nbelow\nTWO\nthree\n");
      answered = isBehind;
    }
  });

  it("that was only touched is not changed: there is no false conflict", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE });
    await mounted.text("a.txt");
    for (let time = 1; time <= 5; time++) {
      utimesSync(mounted.path("a.txt"), time, time);
      await mounted.call("block_edit", { block_id: "a.txt", ...replaced(0, `ONE ${time}`) });
    }
    const { version } = await mounted.call<{ version: number }>("block_read", {
      block_id: "a.txt",
    });
    expect(version).toBe(6);
  });

  it("that was written over and given its old time again is taken in, and edited", async () => {
    for (const isLong of [false, true]) {
      // A long one's bytes are not at hand when it is saved.
      const rest = isLong ? "of many lines\n".repeat(30_000) : "";
      await using mounted = await Mounted.with({ "a.txt": `one\n${rest}` });
      const old = (): void => utimesSync(mounted.path("a.txt"), 1_000, 1_000);
      old();
      await mounted.text("a.txt");
      mounted.write("a.txt", `two\n${rest}`);
      old();
      expect(await mounted.text("a.txt")).toBe(`two\n${rest}`);
      mounted.write("a.txt", `six\n${rest}`);
      old();
      await mounted.call("block_append", { block_id: "a.txt", text: "end\n" });
      await mounted.call("file_save", { path: "a.txt" });
      expect(mounted.read("a.txt")).toBe(`six\n${rest}end\n`);
    }
  });

  it("that was written over and given its old time again is found however often somebody asks", async () => {
    await using mounted = await Mounted.with({ "a.txt": "one\n" });
    const over = (text: string): void => {
      mounted.write("a.txt", text);
      utimesSync(mounted.path("a.txt"), 1_000, 1_000);
    };
    const asked = async (): Promise<unknown> =>
      (await mounted.call<{ files: Answer[] }>("file_status", { path: "a.txt" })).files[0]![
        "status"
      ];
    over("one\n");
    await mounted.text("a.txt");
    over("o\0e\n");
    expect([await asked(), await asked()]).toEqual(["binary", "binary"]);
    over("two\n");
    expect([await asked(), await asked()]).toEqual(["disk_ahead", "disk_ahead"]);
    await mounted.call("block_append", { block_id: "a.txt", text: "end\n" });
    await mounted.call("file_save", { path: "a.txt" });
    expect(mounted.read("a.txt")).toBe("two\nend\n");
  });

  it("keeps line ends, byte order mark, encoding and mode, and changes only its region", async () => {
    const utf16 = Buffer.from("\uFEFFone\r\ntwo\r\nthree", "utf16le");
    await using mounted = await Mounted.with({
      "crlf.txt": "one\r\ntwo\r\nthree\r\n",
      "bom.txt": "\uFEFFone\ntwo\nthree",
      "mixed.txt": "one\r\ntwo\nthree\n",
      "utf16.txt": utf16,
    });
    mounted.run("chmod", "751", "crlf.txt");
    for (const name of ["crlf.txt", "bom.txt", "mixed.txt", "utf16.txt"]) {
      await mounted.text(name);
      await mounted.call("block_edit", { block_id: name, ...replaced(1, "TWO") });
    }
    expect(mounted.read("crlf.txt")).toBe("one\r\nTWO\r\nthree\r\n");
    expect(mounted.run("stat", "-c", "%a", "crlf.txt")).toBe("751\n");
    expect(mounted.read("bom.txt")).toBe("\uFEFFone\nTWO\nthree");
    expect(mounted.read("mixed.txt")).toBe("one\r\nTWO\nthree\n");
    expect(mounted.bytes("utf16.txt").toString("utf16le")).toBe("\uFEFFone\r\nTWO\r\nthree");
  });

  it("with CRLF is edited by who says \\r\\n as by who says \\n, and its block gets no return", async () => {
    const text = "one\r\ntwo\r\nthree\r\nfour";
    await using mounted = await Mounted.with({ "a.txt": text });
    const written: string[] = [];
    const edited = async (tool: string, input: object): Promise<void> => {
      await mounted.call(tool, { block_id: "a.txt", ...input });
      expect(await mounted.text("a.txt")).not.toContain("\r");
      written.push(mounted.read("a.txt"));
    };
    const lines = (start: number, end: number, content: string, expected_text?: string) => {
      const range = { start_line: start, end_line: end };
      return { operations: [{ op: "replace", ...range, content, expected_text }] };
    };
    await mounted.text("a.txt");
    await edited("block_replace", { old: "one\r\ntwo", new: "1\r\n2" });
    await edited("block_edit", lines(0, 1, "one\r", "1\r"));
    await edited("block_edit", lines(0, 2, "I\r\nII\r\n", "one\r\n2\r\n"));
    await edited("block_edit", lines(3, 4, "IV\r\n"));
    await edited("block_edit", { operations: [{ op: "insert", line: 4, content: "V\r\nVI\r\n" }] });
    await edited("block_replace", { old: "three", new: "III\r\nIII b" });
    expect(written).toEqual([
      "1\r\n2\r\nthree\r\nfour",
      "one\r\n2\r\nthree\r\nfour",
      "I\r\nII\r\nthree\r\nfour",
      "I\r\nII\r\nthree\r\nIV",
      "I\r\nII\r\nthree\r\nIV\r\nV\r\nVI",
      "I\r\nII\r\nIII\r\nIII b\r\nIV\r\nV\r\nVI",
    ]);
  });

  it("that is no text is refused as such, listed and never touched", async () => {
    const bytes = new Uint8Array([1, 0, 2, 255]);
    await using mounted = await Mounted.with({
      "a.bin": bytes,
      "b.txt": new Uint8Array([0xff, 65]),
    });
    for (const path of ["a.bin", "b.txt"])
      expect((await refused(mounted.text(path))).code).toBe("file_unreadable");
    const { files } = await mounted.call<{ files: { path: string }[] }>("file_list", {});
    expect(files.map(({ path }) => path)).toEqual(["a.bin", "b.txt"]);
    expect([...mounted.bytes("a.bin")]).toEqual([...bytes]);
  });

  it("that is deleted stays a block, and is the same one when it comes back", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE });
    const { block_id } = await mounted.call("file_load", { path: "a.txt" });
    rmSync(mounted.path("a.txt"));
    expect(await mounted.text("a.txt")).toBe(THREE);
    expect((await refused(mounted.call("file_load", { path: "a.txt" }))).code).toBe("not_on_disk");
    const status = await mounted.call<{ files: Answer[] }>("file_status", { path: "a.txt" });
    expect(status.files).toEqual([{ path: "a.txt", block_id, status: "deleted" }]);
    expect(existsSync(mounted.path("a.txt"))).toBe(false);
    mounted.write("a.txt", "anew\n");
    expect(await mounted.text("a.txt")).toBe("anew\n");
    expect((await mounted.call("file_load", { path: "a.txt" }))["block_id"]).toBe(block_id);
  });

  it("is made, moved and deleted, and its block goes with it", async () => {
    await using mounted = await Mounted.with({});
    const made = await mounted.call("file_create", { path: "x/a.txt", content: THREE });
    expect(mounted.read("x/a.txt")).toBe(THREE);
    expect((await refused(mounted.call("file_create", { path: "x/a.txt" }))).code).toBe(
      "already_exists",
    );
    // Deleting, and so moving, asks a person.
    const moving = { path: "x/a.txt", to: "y/b.txt" };
    expect((await refused(mounted.call("file_move", moving))).facts["decision"]).toBe("ask");
    const moved = await mounted.call("file_move", moving, ann);
    expect(moved["block_id"]).toBe(made["block_id"]);
    expect(mounted.read("y/b.txt")).toBe(THREE);
    expect(existsSync(mounted.path("x/a.txt"))).toBe(false);
    await mounted.call("block_edit", { block_id: "y/b.txt", ...replaced(0, "ONE") });
    await mounted.call("file_delete", { path: "y/b.txt" }, ann);
    expect(existsSync(mounted.path("y/b.txt"))).toBe(false);
    const back = await mounted.call("file_create", { path: "y/b.txt", content: "back\n" });
    expect(back["block_id"]).toBe(made["block_id"]);
  });

  it("of several changed by one patch is saved with the others, and undone with them", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE, "b.txt": THREE });
    const patch = ["a.txt", "b.txt"]
      .map(
        (name) => `--- a/${name}\n+++ b/${name}\n@@ -1,3 +1,3 @@\n one\n-two\n+${name}\n three\n`,
      )
      .join("");
    const { edit } = await mounted.call("block_apply_patch", { patch });
    expect(mounted.read("a.txt")).toBe("one\na.txt\nthree\n");
    expect(mounted.read("b.txt")).toBe("one\nb.txt\nthree\n");
    await mounted.call("block_undo", { edit });
    expect([mounted.read("a.txt"), mounted.read("b.txt")]).toEqual([THREE, THREE]);
  });
});

describe("both sides changed the same lines", () => {
  async function clashed(): Promise<Mounted> {
    const mounted = await Mounted.with({
      "kumiko.toml": '[mount]\nsave = "manual"\n',
      "a.txt": THREE,
    });
    await mounted.text("a.txt");
    await mounted.call("block_edit", { block_id: "a.txt", ...replaced(1, "agent") });
    expect(mounted.read("a.txt")).toBe(THREE);
    mounted.write("a.txt", "one\nperson\nthree\n");
    return mounted;
  }

  it("disk stands, the agent's lines are kept and it is told, and a resolution can be undone", async () => {
    await using mounted = await clashed();
    const answer = await mounted.call<{ content: string; conflicts: Answer[] }>("block_read", {
      block_id: "a.txt",
      line_numbers: false,
    });
    expect(answer.content).toBe("one\nperson\nthree\n");
    expect(answer.conflicts).toMatchObject([{ conflict: "c1", path: "a.txt", lost: "agent\n" }]);
    expect(await mounted.call("block_read", { block_id: "a.txt" })).not.toHaveProperty("conflicts");
    const { conflicts, files } = await mounted.call<{ conflicts: Answer[]; files: Answer[] }>(
      "file_status",
      { path: "a.txt" },
    );
    expect(files).toMatchObject([{ status: "conflict" }]);
    expect(conflicts).toMatchObject([
      { conflict: "c1", theirs: "disk", mine: ["claude"], stood: "disk" },
    ]);
    await mounted.call("file_resolve", { conflict: "c1", choice: "both" });
    expect(await mounted.text("a.txt")).toBe("one\nperson\nagent\nthree\n");
    await mounted.call("block_undo", {});
    expect(await mounted.text("a.txt")).toBe("one\nperson\nthree\n");
    const mine = { conflict: "c1", choice: "memory" };
    await mounted.call("file_resolve", mine);
    expect(await mounted.text("a.txt")).toBe("one\nagent\nthree\n");
    expect((await refused(mounted.call("file_resolve", mine))).code).toBe("unknown_conflict");
  });

  it("survives a restart, and a conflict's name is never given twice", async () => {
    await using mounted = await clashed();
    await mounted.text("a.txt");
    await mounted.restart();
    const status = await mounted.call<{ conflicts: Answer[] }>("file_status", {});
    expect(status.conflicts).toMatchObject([{ conflict: "c1" }]);
    await mounted.call("file_resolve", { conflict: "c1", choice: "memory" });
    expect(await mounted.text("a.txt")).toBe("one\nagent\nthree\n");
    mounted.write("a.txt", "one\nsomebody\nthree\n");
    const told = await mounted.call<{ conflicts: Answer[] }>("block_read", { block_id: "a.txt" });
    expect(told.conflicts).toMatchObject([{ conflict: "c2" }]);
  });
});

describe("rules of a folder", () => {
  const RULES = `
[[rule]]
path = "vendor/**"
level = "read_only"

[[rule]]
path = "log/*.md"
level = "append"
`;

  it("hold for every tool, by path and by block, for agents and for people", async () => {
    await using mounted = await Mounted.with({
      "kumiko.toml": RULES,
      "vendor/a.txt": THREE,
      "log/day.md": THREE,
      ".env": "SECRET=1\n",
      ".gitignore": "out/\n",
      "out/made.txt": THREE,
    });
    const change = (path: string) => ({ block_id: path, ...replaced(0, "ONE"), base_version: 1 });
    expect(await mounted.text("vendor/a.txt")).toBe(THREE);
    for (const path of ["vendor/a.txt", "log/day.md", "out/made.txt", "kumiko.toml", ".env"]) {
      const before = mounted.read(path);
      expect((await refused(mounted.call("block_edit", change(path)))).code).toBe("denied");
      expect(mounted.read(path)).toBe(before);
    }
    expect((await refused(mounted.text(".env"))).message).toContain(".env");
    const { block_id } = await mounted.call("file_load", { path: "vendor/a.txt" });
    expect((await refused(mounted.call("block_edit", change(block_id as string)))).code).toBe(
      "denied",
    );
    await mounted.call("block_append", { block_id: "log/day.md", text: "four\n", flush: true });
    await mounted.stop();
    expect(mounted.read("log/day.md")).toBe(`${THREE}four\n`);
    await mounted.start();
    // A person answers their own ask; what is denied stays so.
    await mounted.call("block_edit", change(".env"), ann);
    expect(mounted.read(".env")).toBe("ONE\n");
    for (const by of [ann, claude]) {
      const found = await mounted.call<{ blocks: Answer[] }>(
        "kernel_search",
        { query: "ONE|one" },
        by,
      );
      expect(found.blocks.map(({ path }) => String(path)).toSorted()).toEqual([
        "log/day.md",
        "vendor/a.txt",
      ]);
    }
    expect((await refused(mounted.call("block_edit", change("vendor/a.txt"), ann))).code).toBe(
      "denied",
    );
  });

  it("that cannot be read keep the folder from being mounted, and nothing else", async () => {
    await using mounted = await Mounted.with({
      "kumiko.toml": '[[rule]]\npath = "a"\nlevel = "readonly"\n',
      "a.txt": THREE,
    });
    const error = await refused(mounted.text("a.txt"));
    expect(error).toMatchObject({ code: "invalid_rules", facts: { line: 3 } });
    await mounted.kernel.contexts.create("main", "ann");
    await mounted.call("block_create", {
      role: "user",
      kind: "text",
      content: "x",
      context: "main",
    });
  });
});

describe("a mount that is watched", () => {
  const THIRTY = Array.from({ length: 30 }, (_, index) => `f${index}.txt`);

  it("takes in what others write without being asked, and a branch as one Edit", async () => {
    const files = Object.fromEntries(THIRTY.map((name) => [name, THREE]));
    await using mounted = await Mounted.with(files, { watch: true });
    const { kernel } = mounted;
    mounted.run("git", "init", "-q");
    mounted.run("git", "config", "user.email", "ann@example.com");
    mounted.run("git", "config", "user.name", "ann");
    mounted.run("git", "add", ".");
    mounted.run("git", "commit", "-qm", "one");
    mounted.run("git", "checkout", "-qb", "other");
    for (const name of THIRTY) mounted.write(name, `${name}\n${THREE}`);
    mounted.run("git", "commit", "-qam", "two");
    mounted.run("git", "checkout", "-q", "-");
    for (const name of THIRTY) expect(await mounted.text(name)).toBe(THREE);
    const seen = new Map<string, Set<string>>();
    const all = Promise.withResolvers<void>();
    const ended = new AbortController();
    const following = (async () => {
      for await (const events of kernel.feed.subscribe({ signal: ended.signal })) {
        for (const { edit, actor, block } of events) {
          seen.set(`${actor} ${edit}`, (seen.get(`${actor} ${edit}`) ?? new Set()).add(block));
          if ([...seen.values()].reduce((sum, { size }) => sum + size, 0) === THIRTY.length)
            all.resolve();
        }
      }
    })();
    mounted.run("git", "checkout", "-q", "other");
    await all.promise;
    ended.abort();
    await following.catch(() => undefined);
    expect([...seen.values()].map(({ size }) => size)).toEqual([THIRTY.length]);
    expect([...seen.keys()][0]).toMatch(/^disk /);
    for (const name of THIRTY) expect(await mounted.text(name)).toBe(`${name}\n${THREE}`);
  });

  it("lets a block follow its file to another name", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE }, { watch: true });
    const { block_id } = await mounted.call("file_load", { path: "a.txt" });
    const moved = Promise.withResolvers<void>();
    const ended = new AbortController();
    void (async () => {
      for await (const _ of mounted.kernel.feed.subscribe({ signal: ended.signal }))
        moved.resolve();
    })().catch(() => undefined);
    renameSync(mounted.path("a.txt"), mounted.path("b.txt"));
    await moved.promise;
    ended.abort();
    expect((await mounted.call("file_load", { path: "b.txt" }))["block_id"]).toBe(block_id);
  });
});

describe("a mount over time", () => {
  it("finds what changed while it was down, and saves what was not saved", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE, "b.txt": THREE, "c.txt": THREE });
    for (const name of ["a.txt", "b.txt", "c.txt"]) await mounted.text(name);
    await mounted.call("block_edit", { block_id: "a.txt", ...replaced(0, "ONE") });
    await mounted.stop();
    mounted.write("a.txt", "ONE\ntwo\nTHREE\n");
    rmSync(mounted.path("b.txt"));
    renameSync(mounted.path("c.txt"), mounted.path("d.txt"));
    await mounted.start();
    expect(await mounted.text("a.txt")).toBe("ONE\ntwo\nTHREE\n");
    const { runs } = await mounted.call<{ runs: { actor: string }[] }>("block_blame", {
      block_id: "a.txt",
    });
    const actors = runs.map(({ actor }) => actor);
    expect(actors.filter((actor, index) => actor !== actors[index - 1])).toEqual([
      "claude",
      "disk",
    ]);
    expect((await refused(mounted.call("file_load", { path: "b.txt" }))).code).toBe("not_on_disk");
    expect(await mounted.text("d.txt")).toBe(THREE);
  });

  it("saves what streams in a moment later, and all of it when it closes", async () => {
    await using mounted = await Mounted.with({ "a.txt": "" });
    await mounted.call("block_append", { block_id: "a.txt", text: "streamed" });
    await mounted.stop();
    expect(mounted.read("a.txt")).toBe("streamed");
  });

  it("two agents and the disk at once: nothing is lost", async () => {
    const lines = Array.from({ length: 60 }, (_, index) => `line ${index}`);
    await using mounted = await Mounted.with({ "a.txt": `${lines.join("\n")}\n` });
    const edits = [claude, codex].map(async (who, agent) => {
      for (let count = 0; count < 10; count++) {
        const line = agent * 20 + count;
        await mounted.call("block_read", { block_id: "a.txt" }, who);
        await mounted.call(
          "block_replace",
          { block_id: "a.txt", old: `line ${line}\n`, new: `${who.actor} ${line}\n` },
          who,
        );
      }
    });
    const disk = (async () => {
      for (let line = 40; line < 50; line++) {
        mounted.run("sed", "-i", `s/^line ${line}$/disk ${line}/`, "a.txt");
        await mounted.text("a.txt");
      }
    })();
    await Promise.all([...edits, disk]);
    const text = await mounted.text("a.txt");
    expect(mounted.read("a.txt")).toBe(text);
    const expected = lines.map((line, index) => {
      if (index < 10) return `claude ${index}`;
      if (index >= 20 && index < 30) return `codex ${index}`;
      return index >= 40 && index < 50 ? `disk ${index}` : line;
    });
    expect(text).toBe(`${expected.join("\n")}\n`);
  });
});
