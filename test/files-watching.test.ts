import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { EpochPart } from "../src/files/epoch-part.ts";
import { subscribe } from "../src/files/subscription.ts";
import type { WatchTrouble } from "../src/files/watch-trouble.ts";
import { scaled } from "./support/counts.ts";
import { root as repository, runProgram } from "./support/process.ts";
import { hasVim } from "./support/programs.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import { git, savers, shell, Watched } from "./support/writers.ts";

const OLD = "one old\ntwo old\nthree old\nfour old\nfive old\nsix old\n";
const NEW = OLD.replaceAll("old", "new");

function write(root: string, path: string, content: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

for (const [name, save] of Object.entries(savers)) {
  test.skipIf(name.startsWith("vim") && !hasVim)(
    `a file saved by ${name} is told once, when it is whole, and nothing is told as gone`,
    async () => {
      using folder = temporaryFolder();
      folder.write("in/file", OLD);
      folder.write("in/other", OLD);
      await using watched = await Watched.start(folder.path);
      await shell(folder.path, save("in/file"));
      await watched.until("the save", () => watched.last("in/file") === NEW);
      await watched.settled("end");
      expect(watched.read.get("in/file")).toEqual([NEW]);
      expect(watched.gone).toEqual([]);
      // A backup that an editor leaves is a file like any other.
      expect(watched.changed.filter((path) => !path.endsWith("~"))).toEqual(["in/file", "end"]);
      expect(watched.troubles).toEqual([]);
    },
  );
}

test("what is appended is told, line after line or many at once, never a shorter text again", async () => {
  using folder = temporaryFolder();
  folder.write("log", "");
  await using watched = await Watched.start(folder.path);
  await shell(folder.path, "for i in 1 2 3 4 5 6 7 8; do echo line $i >> log; sleep 0.07; done");
  const whole = readFileSync(join(folder.path, "log"), "utf8");
  await watched.until("the last line", () => watched.last("log") === whole);
  expect(watched.read.get("log")!.filter((text) => !whole.startsWith(text))).toEqual([]);
  expect(watched.gone).toEqual([]);
});

test("a checkout of another branch is one epoch", async () => {
  using folder = temporaryFolder();
  const { path: root } = folder;
  await git(root, "init", "-q", "-b", "one");
  for (let i = 0; i < 200; i++) write(root, `d${i % 20}/e${i % 3}/f${i}`, `one ${i}\n`);
  await git(root, "add", ".");
  await git(root, "commit", "-qm", "one");
  await git(root, "checkout", "-qb", "two");
  for (let i = 0; i < 180; i++) write(root, `d${i % 20}/e${i % 3}/f${i}`, `two ${i}\n`);
  for (let i = 180; i < 200; i++) rmSync(join(root, `d${i % 20}/e${i % 3}/f${i}`));
  for (let i = 0; i < 20; i++) write(root, `new/n${i}/f`, `new ${i}\n`);
  await git(root, "add", ".");
  await git(root, "commit", "-qm", "two");

  await using watched = await Watched.start(root);
  for (const branch of ["one", "two", "one"]) {
    const before = watched.parts.length;
    const told = () => watched.parts.slice(before);
    const changed = () => new Set(told().flatMap((part) => part.changed));
    const gone = () => told().flatMap((part) => part.gone);
    await git(root, "checkout", "-q", branch);
    await watched.until(branch, () => changed().size >= 200 && gone().length >= 20);
    expect(new Set(told().map(({ epoch }) => epoch)).size).toBe(1);
    await watched.settled(`after-${before}`);
    const only = branch === "one" ? "new/" : "f1[89].$";
    expect(gone().filter((path) => !new RegExp(only).test(path))).toEqual([]);
    expect(gone()).toHaveLength(20);
    expect(changed().size).toBe(201);
    for (let i = 0; i < 180; i++) {
      expect(watched.last(`d${i % 20}/e${i % 3}/f${i}`)).toBe(`${branch} ${i}\n`);
    }
  }
  expect(watched.troubles).toEqual([]);
});

test("what git did last is told with the rest, though nothing was heard of it yet", async () => {
  using folder = temporaryFolder();
  for (let i = 0; i < 40; i++) folder.write(`d${i % 4}/f${i}`, `one ${i}\n`);
  folder.write(".git/HEAD", "ref: refs/heads/one\n");
  let hear: (paths: readonly string[]) => void = () => undefined;
  await using watched = await Watched.start(folder.path, {
    subscribe: (_, { onHints }) => {
      hear = (paths) => onHints(paths.map((path) => ({ path, came: false })));
      return Promise.resolve({ close: () => Promise.resolve() });
    },
  });
  for (let i = 0; i < 40; i++) write(folder.path, `d${i % 4}/f${i}`, `two ${i}\n`);
  hear([".git/HEAD", "d0/f0", "d1/f1"]);
  await watched.until("all", () => watched.changed.length >= 40);
  expect(new Set(watched.parts.map(({ epoch }) => epoch)).size).toBe(1);
  expect(watched.changed).toHaveLength(40);
});

test("what tar unpacks into fresh folders is told whole", async () => {
  using elsewhere = temporaryFolder();
  const paths = Array.from({ length: 200 }, (_, i) => `t/a${i % 7}/b${i % 31}/c${i}/file`);
  for (const path of paths) elsewhere.write(path, `${path}\n`.repeat(500));
  await shell(elsewhere.path, "tar cf all.tar t");
  using folder = temporaryFolder();
  await using watched = await Watched.start(folder.path);
  await shell(folder.path, `tar xf ${elsewhere.path}/all.tar`);
  await watched.until("everything", () => paths.every((path) => watched.read.has(path)));
  for (const path of paths) expect(watched.read.get(path)).toEqual([`${path}\n`.repeat(500)]);
  // What happens in those folders later is seen as well, and so is the archive unpacked over what is there.
  await shell(folder.path, `echo more >> ${paths[77]}`);
  await watched.until("more", () => watched.last(paths[77]!)?.endsWith("more\n") === true);
  await shell(folder.path, `tar xf ${elsewhere.path}/all.tar`);
  await watched.until("less", () => watched.last(paths[77]!)?.endsWith("more\n") === false);
  expect(watched.gone).toEqual([]);
});

test("300 files in 100 fresh folders: none is missed", async () => {
  using folder = temporaryFolder();
  await using watched = await Watched.start(folder.path);
  for (let round = 0; round < scaled(10); round++) {
    const paths: string[] = [];
    for (let i = 0; i < 100; i++) {
      for (let file = 0; file < 3; file++) paths.push(`r${round}/a${i % 10}/b${i}/${file}`);
    }
    for (const path of paths) write(folder.path, path, path);
    await watched.until("everything", () => paths.every((path) => watched.last(path) === path));
    const again = paths.filter((_, index) => index % 10 === 0);
    for (const path of again) write(folder.path, path, "again");
    await watched.until("again", () => again.every((path) => watched.last(path) === "again"));
  }
  expect(watched.gone).toEqual([]);
  expect(watched.troubles).toEqual([]);
});

test("a loop that makes, changes and deletes files ends in what is there", async () => {
  using folder = temporaryFolder();
  await using watched = await Watched.start(folder.path);
  await shell(
    folder.path,
    "for i in $(seq 1 60); do mkdir -p d$((i % 5))/x$i; echo $i > d$((i % 5))/x$i/f; echo $i >> all;" +
      " [ $((i % 3)) = 0 ] && rm -r d$((i % 5))/x$i || true; done",
  );
  const there = Array.from({ length: 60 }, (_, i) => i + 1).filter((i) => i % 3 !== 0);
  await watched.until("all files", () =>
    there.every((i) => watched.last(`d${i % 5}/x${i}/f`) === `${i}\n`),
  );
  await watched.settled("end");
  const left = new Set([...watched.watch.stamps()].map(([path]) => path));
  expect([...left].toSorted()).toEqual(
    [...there.map((i) => `d${i % 5}/x${i}/f`), "all", "end"].toSorted(),
  );
  expect(watched.gone.filter((path) => left.has(path))).toEqual([]);
});

test("a whole folder moved in, about and out is told whole, and is watched where it is", async () => {
  using folder = temporaryFolder();
  using elsewhere = temporaryFolder();
  const files = Array.from({ length: 40 }, (_, i) => `s${i % 4}/t${i % 8}/f${i}`);
  for (const path of files) elsewhere.write(`m/${path}`, path);
  await using watched = await Watched.start(folder.path);
  const at = (name: string) => join(folder.path, name);

  renameSync(join(elsewhere.path, "m"), at("in"));
  await watched.until("in", () => files.every((path) => watched.last(`in/${path}`) === path));
  renameSync(at("in"), at("about"));
  await watched.until("about", () => files.every((path) => watched.last(`about/${path}`) === path));
  expect(watched.gone).toEqual([]);
  expect(watched.moved.toSorted((a, b) => (a.from < b.from ? -1 : 1))).toEqual(
    files
      .map((path) => ({ from: `in/${path}`, to: `about/${path}` }))
      .toSorted((a, b) => (a.from < b.from ? -1 : 1)),
  );
  appendFileSync(at(`about/${files[5]}`), "!");
  await watched.until("a change", () => watched.last(`about/${files[5]}`) === `${files[5]}!`);
  renameSync(at("about"), join(elsewhere.path, "m"));
  await watched.until("out", () => watched.gone.length >= files.length);
  expect(watched.gone.toSorted()).toEqual(files.map((path) => `about/${path}`).toSorted());
  expect([...watched.watch.stamps()]).toEqual([]);
});

test("a file that is renamed has moved; one made where another went has not, even with its number", async () => {
  using folder = temporaryFolder();
  folder.write("a", "a");
  folder.write("b", "b");
  await using watched = await Watched.start(folder.path);
  await shell(folder.path, "mv a c; echo more >> c");
  await watched.until("the move", () => watched.last("c") === "amore\n");
  expect(watched.moved).toEqual([{ from: "a", to: "c" }]);
  expect(watched.changed).toEqual([]);
  await shell(folder.path, "rm b; echo d > d");
  await watched.until("both", () => watched.last("d") === "d\n" && watched.gone.includes("b"));
  expect(watched.moved).toHaveLength(1);
});

test("a root that vanishes halts everything, and goes on when it is back", async () => {
  using above = temporaryFolder();
  for (let i = 0; i < 30; i++) above.write(`root/d${i % 5}/f${i}`, `${i}`);
  const root = join(above.path, "root");
  await using watched = await Watched.start(root);
  const kinds = () => watched.troubles.map(({ kind }) => kind);

  renameSync(root, join(above.path, "away"));
  await watched.until("the root gone", () => kinds().includes("root_gone"));
  write(above.path, "away/d0/f0", "changed meanwhile");
  rmSync(join(above.path, "away/d1/f1"));
  // An empty folder in its place is not the root.
  mkdirSync(root);
  await watched.until("another look", () => Date.now() - statSync(root).birthtimeMs > 1500);
  expect(kinds()).toEqual(["root_gone"]);
  rmSync(root, { recursive: true });
  expect(watched.parts).toEqual([]);
  renameSync(join(above.path, "away"), root);
  await watched.until("the root back", () => kinds().includes("root_back"));
  await watched.until("the change", () => watched.last("d0/f0") === "changed meanwhile");
  await watched.until("the deletion", () => watched.gone.includes("d1/f1"));
  expect(watched.changed).toEqual(["d0/f0"]);
  expect(watched.gone).toEqual(["d1/f1"]);

  // Removed for good and made anew with the same content: nothing but that is told.
  await shell(above.path, "cp -r root copy; rm -r root; sleep 0.3; mv copy root");
  await watched.until(
    "the root back again",
    () => kinds().filter((kind) => kind === "root_back").length === 2,
  );
  write(root, "d3/new", "new");
  await watched.until("what is new", () => watched.last("d3/new") === "new");
  expect(watched.gone).toEqual(["d1/f1"]);
  expect(kinds()).toEqual(["root_gone", "root_back", "root_gone", "root_back"]);
});

test("what could not be dealt with is told again, and only that", async () => {
  using folder = temporaryFolder();
  for (const name of ["changed", "gone", "moved", "same"]) folder.write(name, name);
  const told: EpochPart[] = [];
  const troubles: WatchTrouble[] = [];
  let failures = 2;
  await using watched = await Watched.start(folder.path, {
    onChanges: (part) => {
      told.push(part);
      if (failures-- > 0) throw new Error("not now");
    },
    onTrouble: (trouble) => troubles.push(trouble),
  });
  await shell(folder.path, "echo x > changed; rm gone; mv moved d; mkdir e; echo n > e/new");
  const after = () => {
    const parts = told.slice(2);
    return {
      changed: parts.flatMap(({ changed }) => changed).toSorted(),
      gone: parts.flatMap(({ gone }) => gone),
      moved: parts.flatMap(({ moved }) => moved),
    };
  };
  const all = {
    changed: ["changed", "e/new"],
    gone: ["gone"],
    moved: [{ from: "moved", to: "d" }],
  };
  await watched.until("all of it", () => JSON.stringify(after()) === JSON.stringify(all));
  expect(troubles).toEqual([
    { kind: "fault", error: new Error("not now") },
    { kind: "fault", error: new Error("not now") },
  ]);
  writeFileSync(join(folder.path, "same"), "another");
  await watched.until("the next", () => told.at(-1)!.changed.includes("same"));
  expect(told.at(-1)).toMatchObject({ changed: ["same"], gone: [], moved: [] });
});

test("rules that change are told, and decide from then on about what is watched", async () => {
  using folder = temporaryFolder();
  folder.write(".gitignore", "out/\n");
  folder.write("out/deep/a", "a");
  folder.write("src/b", "b");
  await using watched = await Watched.start(folder.path);
  writeFileSync(join(folder.path, "out/deep/a"), "unseen");
  await watched.settled("one");
  expect(watched.changed).toEqual(["one"]);

  writeFileSync(join(folder.path, ".gitignore"), "src/\n");
  await watched.until("what was ignored", () => watched.last("out/deep/a") === "unseen");
  expect(watched.last(".gitignore")).toBe("src/\n");
  writeFileSync(join(folder.path, "src/b"), "not seen");
  writeFileSync(join(folder.path, "out/deep/a"), "seen");
  await watched.until("the change", () => watched.last("out/deep/a") === "seen");
  await watched.settled("two");
  expect(watched.read.has("src/b")).toBe(false);
  expect(watched.gone).toEqual([]);
});

test("rule files that are ignored are told, but not from within an ignored folder", async () => {
  using folder = temporaryFolder();
  folder.write("d/.gitignore", "*\n");
  folder.write("d/a", "a");
  folder.write("out/.gitignore", "b\n");
  folder.write(".kumikoignore", ".kumikoignore\nkumiko.toml\nout/\n");
  await using watched = await Watched.start(folder.path);
  const known = () => Array.from(watched.watch.stamps(), ([path]) => path);
  expect(known()).toEqual([]);
  folder.write("kumiko.toml", "# none\n");
  folder.write("out/.gitignore", "c\n");
  folder.write("d/.gitignore", "*\n!b\n");
  folder.write("d/b", "b");
  await watched.until("what was ignored", () => watched.last("d/b") === "b");
  await watched.settled("one");
  expect(watched.changed.toSorted()).toEqual(["d/.gitignore", "d/b", "kumiko.toml", "one"]);
  rmSync(join(folder.path, "d/.gitignore"));
  await watched.until("what was ignored", () => watched.last("d/a") === "a");
  expect(watched.gone).toEqual(["d/.gitignore"]);
  rmSync(join(folder.path, ".kumikoignore"));
  await watched.until("what was ignored", () => watched.last("out/.gitignore") === "c\n");
  expect(known().toSorted()).toEqual(["d/a", "d/b", "kumiko.toml", "one", "out/.gitignore"]);
});

test("a folder that is ignored when it comes is neither looked into nor watched", async () => {
  using folder = temporaryFolder();
  folder.write(".gitignore", "node_modules\n");
  const leftOut: string[][] = [];
  await using watched = await Watched.start(folder.path, {
    subscribe: (root, options) => {
      leftOut.push([...options.leftOut]);
      return subscribe(root, options);
    },
  });
  for (let i = 0; i < 50; i++) folder.write(`p/node_modules/m${i}/index.js`, "");
  await watched.until("a new beginning", () => leftOut.at(-1)!.includes("p/node_modules"));
  await watched.settled("end");
  expect(watched.changed).toEqual(["end"]);
});

test("a watcher that hears nothing or fails is made up for by looking", async () => {
  using folder = temporaryFolder();
  folder.write("d/e/file", OLD);
  folder.write("d/gone", OLD);
  let fail: (error: Error) => void = () => undefined;
  await using watched = await Watched.start(folder.path, {
    check: 200,
    subscribe: (root, options) => {
      fail = options.onError;
      return subscribe(root, { ...options, onHints: () => undefined });
    },
  });
  await shell(
    folder.path,
    `${savers["truncate and write"]!("d/e/file")}; rm d/gone; mkdir n; echo n > n/n`,
  );
  await watched.until("the change", () => watched.last("d/e/file") === NEW);
  await watched.until("the rest", () => watched.gone.length > 0 && watched.last("n/n") === "n\n");
  expect(watched.gone).toEqual(["d/gone"]);
  fail(new Error("Events were dropped"));
  await watched.until("the failure", () => watched.troubles.length > 0);
  expect(watched.troubles).toEqual([{ kind: "watcher_failed", reason: "Events were dropped" }]);
});

test("after an error of the watcher everything is compared, and watched again", async () => {
  using folder = temporaryFolder();
  folder.write("file", OLD);
  const beginnings: ((error: Error) => void)[] = [];
  await using watched = await Watched.start(folder.path, {
    subscribe: (root, options) => {
      beginnings.push(options.onError);
      // The first one is deaf; the second one is not.
      const onHints = beginnings.length === 1 ? () => undefined : options.onHints;
      return subscribe(root, { ...options, onHints });
    },
  });
  await shell(folder.path, savers["sed -i"]!("file"));
  beginnings[0]!(new Error("Events were dropped"));
  await watched.until("the change", () => watched.last("file") === NEW);
  await shell(folder.path, "echo again > file");
  await watched.until("the next change", () => watched.last("file") === "again\n");
  expect(beginnings).toHaveLength(2);
});

const LIMITED = "echo 3 > /proc/sys/user/max_inotify_watches";
const canLimit = (await runProgram("unshare", ["-Ur", "sh", "-c", LIMITED])).code === 0;

test.skipIf(!canLimit)(
  "where the system lets us watch no more, changes are found by looking",
  async () => {
    using folder = temporaryFolder();
    for (let i = 0; i < 10; i++) folder.write(`d${i}/f`, "old");
    const program = `
    import { writeFileSync } from "node:fs";
    import { Watched } from "./test/support/writers.ts";
    const watched = await Watched.start(${JSON.stringify(folder.path)});
    writeFileSync(${JSON.stringify(join(folder.path, "d7/f"))}, "new!");
    await watched.until("the change", () => watched.last("d7/f") === "new!");
    console.log(JSON.stringify(watched.troubles));
    await watched.watch.close();
  `;
    const line = `${LIMITED}; exec "$0" --input-type=module -e "$1"`;
    const ended = await runProgram(
      "unshare",
      ["-Ur", "sh", "-ec", line, process.execPath, program],
      {
        cwd: repository,
      },
    );
    expect(ended.stderr).toBe("");
    const troubles = JSON.parse(ended.stdout) as { kind: string; reason: string }[];
    expect(troubles).toHaveLength(1);
    expect(troubles[0]!.kind).toBe("too_many_watches");
    expect(troubles[0]!.reason).toMatch(/sudo sysctl fs\.inotify\.max_user_watches=\d+/);
  },
);

test("closing ends everything, also while the folder is being looked at", async () => {
  using folder = temporaryFolder();
  for (let i = 0; i < 3000; i++) folder.write(`d${i % 100}/f${i}`, "");
  const watched = await Watched.start(folder.path);
  await watched.watch.close();
  const told = watched.parts.length;
  folder.write("d1/f1", "later");
  await using next = await Watched.start(folder.path);
  await next.settled("end");
  expect(watched.parts).toHaveLength(told);
  expect(watched.troubles).toEqual([]);
});
