import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { asOrdinaryUser } from "../../test/support/ordinary-user.ts";
import { canMount } from "../../test/support/programs.ts";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { LedgerTail, type Notes } from "./ledger-tail.ts";

/** A tail and everything that is not written down yet, as the ledger has it. */
function noting(file: string): {
  tail: LedgerTail;
  readonly note: (block: string, text?: string) => void;
} {
  const tail = LedgerTail.of(file)!;
  const all = new Map<string, string | undefined>();
  const note = (block: string, text?: string): void => {
    all.set(block, text);
    tail.add(block, text, () => all);
  };
  return { tail, note };
}

function notesIn(file: string): Notes {
  return LedgerTail.of(file)!.read();
}

test.runIf(process.platform === "linux")(
  "what is noted is there for the next process, the last of each block, until it is written down",
  () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "deep", "notes");
    expect(notesIn(file)).toEqual(new Map());
    const { tail, note } = noting(file);
    note("@src~file~1", '{"path":"a b.txt"}');
    note("@src~file~2", "two");
    note("@src~file~1", '{"path":"c.txt"}');
    note("@src~file~2");
    const [one, two] = [
      ["@src~file~1", '{"path":"c.txt"}'],
      ["@src~file~2", undefined],
    ] as const;
    expect(notesIn(file)).toEqual(new Map([one, two]));
    tail.keep(new Map([one]));
    expect(notesIn(file)).toEqual(new Map([one]));
    tail.keep(new Map());
    expect(notesIn(file)).toEqual(new Map());
    note("@src~file~3", "three");
    expect(notesIn(file).get("@src~file~3")).toBe("three");
    tail[Symbol.dispose]();
  },
);

test.runIf(process.platform === "linux")(
  "a line that was not written to its end is none, and nothing of another run of the system is believed",
  () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "notes");
    using tail = noting(file).tail;
    tail.add("one", "1", () => new Map([["one", "1"]]));
    appendFileSync(file, "two 2");
    expect(notesIn(file)).toEqual(new Map([["one", "1"]]));
    const [, ...lines] = readFileSync(file, "utf8").split("\n");
    writeFileSync(file, ["another run", ...lines].join("\n"));
    expect(notesIn(file)).toEqual(new Map());
  },
);

test.runIf(process.platform === "linux")(
  "whoever is killed while it is written anew leaves what was there before",
  () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "notes");
    const { tail, note } = noting(file);
    note("one", "1");
    note("two", "2");
    const before = readFileSync(file, "utf8");
    const open = openSync(file, "r");
    tail.keep(new Map([["two", "2"]]));
    expect(readFileSync(open, "utf8")).toBe(before);
    closeSync(open);
    expect(notesIn(file)).toEqual(new Map([["two", "2"]]));
    note("three", "3");
    expect([...notesIn(file).keys()]).toEqual(["two", "three"]);
    tail[Symbol.dispose]();
  },
);

test.runIf(canMount())(
  "what a full disk took a part of is written whole when there is room",
  () => {
    using disk = fullDisk();
    const file = join(disk.path, "notes");
    const { tail, note } = noting(file);
    note("one", "1".repeat(3_000));
    disk.fill();
    note("two", "2".repeat(3_000));
    expect(notesIn(file)).toEqual(new Map([["one", "1".repeat(3_000)]]));
    disk.makeRoom();
    note("three", "3");
    const lengths = [...notesIn(file)].map(([block, text]) => [block, text?.length]);
    expect(lengths).toEqual([
      ["one", 3_000],
      ["two", 3_000],
      ["three", 1],
    ]);
    // What was to replace it and found no room took nothing away either.
    disk.fill();
    tail.keep(new Map([["four", "4".repeat(30_000)]]));
    expect([...notesIn(file).keys()]).toEqual(["one", "two", "three"]);
    tail[Symbol.dispose]();
  },
);

/** A disk of four pages. */
function fullDisk(): Disposable & { readonly path: string; fill(): void; makeRoom(): void } {
  const folder = temporaryFolder();
  const filling = join(folder.path, "filling");
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=16k", "kumiko-test", folder.path]);
  return {
    path: folder.path,
    fill: () => expect(() => writeFileSync(filling, "x".repeat(100_000))).toThrow("ENOSPC"),
    makeRoom: () => rmSync(filling),
    [Symbol.dispose]: () => {
      execFileSync("umount", ["-l", folder.path]);
      folder[Symbol.dispose]();
    },
  };
}

test.runIf(process.platform === "linux")(
  "it stays short while the same block is noted again and again",
  () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "notes");
    const { tail, note } = noting(file);
    for (let round = 0; round < 5_000; round++)
      note(`block ${round % 3}`.replace(" ", "-"), "x".repeat(100));
    expect(readFileSync(file, "utf8").length).toBeLessThan(70_000);
    expect(notesIn(file).size).toBe(3);
    // Many at once are not written anew with each of them.
    const write = vi.spyOn(tail, "keep");
    for (let round = 0; round < 5_000; round++) note(`many-${round}`, "x".repeat(100));
    expect(notesIn(file).size).toBe(5_003);
    expect(write.mock.calls.length).toBeLessThan(10);
    tail[Symbol.dispose]();
  },
);

test.runIf(process.platform === "linux")(
  "where nothing can be written it keeps nobody from anything",
  async () => {
    await asOrdinaryUser(async () => {
      using folder = temporaryFolder();
      chmodSync(folder.path, 0o500);
      const file = join(folder.path, "deep", "notes");
      const { tail, note } = noting(file);
      note("one", "1");
      tail.keep(new Map());
      expect(existsSync(file)).toBe(false);
      tail[Symbol.dispose]();
      chmodSync(folder.path, 0o700);
    });
  },
);
