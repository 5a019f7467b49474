import { mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { refusalCode } from "../../test/support/refusal.ts";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { Folder } from "./contained.ts";
import { listedName } from "./name-folding.ts";

describe.each([true, false])("a folder (handles: %s)", (handles) => {
  it("gives every path that exists its own name, however it is spelled", () => {
    using temporary = temporaryFolder();
    const names = ["a", "b", "c d", "é"];
    for (const outer of names) {
      for (const inner of names) temporary.write(`${outer}/${inner}/file`, "");
    }
    using folder = Folder.open(temporary.path, { handles });
    const part = fc.constantFrom(...names);
    const detour = fc.constantFrom("", ".", "a/..", "new/..", "a/b/../..");
    fc.assert(
      fc.property(part, part, fc.array(detour, { maxLength: 4 }), (outer, inner, detours) => {
        const spelled = [...detours, outer, ".", inner, "x/..", "file"].join("/");
        const given = spelled.startsWith("/") ? `.${spelled}` : spelled;
        expect(folder.resolve(given)).toMatchObject({
          path: `${outer}/${inner}/file`,
          kind: "file",
        });
      }),
      fcOptions(500),
    );
  });

  it("notices that a folder was moved away after it was opened", () => {
    using temporary = temporaryFolder();
    temporary.write("root/sub/file", "");
    using folder = Folder.open(join(temporary.path, "root"), { handles });
    using spot = folder.spot("sub/file");
    spot.stands();
    renameSync(join(temporary.path, "root/sub"), join(temporary.path, "elsewhere"));
    expect(refusalCode(() => spot.stands())).toBe("disk_moved");
    symlinkSync("../elsewhere", join(temporary.path, "root/sub"));
    expect(refusalCode(() => spot.stands())).toBe("disk_moved");
    expect(refusalCode(() => folder.spot("sub/file"))).toBe("disk_moved");
    expect(refusalCode(() => folder.resolve("sub/file"))).toBe("outside");
  });

  it("leaves no handle open", () => {
    using temporary = temporaryFolder();
    temporary.write("a/b/file", "");
    symlinkSync("/", join(temporary.path, "a/out"));
    const before = openHandles();
    {
      using folder = Folder.open(temporary.path, { handles });
      for (const given of ["a/b/file", "a/out/x", "a/b/file/x", "a/../..", "a/new/x"]) {
        refusalCode(() => folder.resolve(given));
        refusalCode(() => {
          using spot = folder.spot(given);
          spot.stands();
        });
      }
      expect(refusalCode(() => Folder.open(join(temporary.path, "nowhere")))).toBe(
        "file_unreadable",
      );
    }
    expect(openHandles()).toBe(before);
  });
});

describe("what a file system makes of names", () => {
  it("is found out without leaving anything", () => {
    using temporary = temporaryFolder();
    mkdirSync(join(temporary.path, "empty"));
    using empty = Folder.open(join(temporary.path, "empty"));
    expect(readdirSync(empty.path)).toEqual([]);
    temporary.write("full/Letters", "");
    using full = Folder.open(join(temporary.path, "full"));
    expect(full.ignoresCase).toBe(empty.ignoresCase);
    writeFileSync(join(empty.path, "a"), "");
    expect(empty.resolve("A").kind).toBe(empty.ignoresCase ? "file" : "absent");
  });

  it("is undone by taking the name that the folder lists", () => {
    const listed = ["README.md", "caf\u00e9", "Straße", "same"];
    const all = () => true;
    expect(listedName("readme.MD", listed, all)).toBe("README.md");
    expect(listedName("CAFE\u0301", listed, all)).toBe("caf\u00e9");
    expect(listedName("STRASSE", listed, all)).toBe("Straße");
    expect(listedName("same", listed, all)).toBe("same");
    expect(listedName("readme.MD", listed, () => false)).toBe("readme.MD");
    expect(listedName("other", listed, all)).toBe("other");
  });
});

function openHandles(): number {
  return process.platform === "linux" ? readdirSync("/proc/self/fd").length : 0;
}
