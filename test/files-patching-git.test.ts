import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { KumikoError } from "../src/base/index.ts";
import { parsePatch } from "../src/blocks/index.ts";
import { fcOptions } from "./support/counts.ts";
import { Mounted } from "./support/mounted.ts";

const LONG = 15 * 60_000;
const ann = { actor: "ann", kind: "person" } as const;

type Tree = { readonly [path: string]: string };

const names = fc.constantFrom("a", "b", "c", "sub/d", "sub/deep/e", "with space", "ż");
const line = fc.constantFrom("one", "two", "three", "four", "", "  indented", "-dash", "ü😀");
// Long enough that git takes what was moved and changed for renamed.
const text = fc
  .tuple(fc.array(line, { minLength: 5, maxLength: 9 }), fc.boolean())
  .map(([lines, isEnded]) => `${["#", ...lines].join("\n")}${isEnded ? "\n" : ""}`);
const change = fc.oneof(
  fc.record({ kind: fc.constant("put" as const), path: names, text }),
  fc.record({ kind: fc.constant("delete" as const), path: names }),
  fc.record({ kind: fc.constant("move" as const), path: names, to: names, added: fc.boolean() }),
);

type Change = typeof change extends fc.Arbitrary<infer Each> ? Each : never;

function changed(before: Tree, changes: readonly Change[]): Tree {
  const tree = new Map(Object.entries(before));
  for (const each of changes) {
    const own = tree.get(each.path);
    if (each.kind === "put") tree.set(each.path, each.text);
    else if (own !== undefined && each.kind === "delete") tree.delete(each.path);
    else if (own !== undefined && each.kind === "move") {
      tree.delete(each.path);
      tree.set(each.to, each.added ? `added\n${own}` : own);
    }
  }
  return Object.fromEntries(tree);
}

function put(mounted: Mounted, tree: Tree): void {
  for (const name of readdirSync(mounted.folder))
    if (name !== ".git") rmSync(mounted.path(name), { recursive: true });
  for (const [path, content] of Object.entries(tree)) mounted.write(path, content);
}

/** As a model may write the two names of a file that has them in `---` and `+++` lines as well. */
const mangled: readonly ((name: string) => string)[] = [
  (name) => `${name} ${name}`,
  (name) => `a/./${name} b/./${name}`,
  (name) => `a/more/${name} b/more/${name}`,
  (name) => `a/${name.split("/").at(-1)!} b/${name.split("/").at(-1)!}`,
];

/** What the patch says with other names in git's own headers. */
function renamed(patch: string, both: (name: string) => string): string {
  const header = /^diff --git a\/(.+) b\/\1\n(?=(?:(?!diff ).+\n)*?--- )/gm;
  return patch.replaceAll(header, (_all, name: string) => `diff --git ${both(name)}\n`);
}

/** What of a patch is for which file, or nothing if it is refused for that. */
function told(patch: string): unknown {
  try {
    const files = parsePatch(patch).files.map(({ oldPath, newPath, kind, hunks }) => ({
      path: newPath ?? oldPath,
      kind,
      hunks,
    }));
    return files.some(({ path }) => path === null) ? undefined : files;
  } catch (error) {
    if (error instanceof KumikoError) return undefined;
    throw error;
  }
}

/** The patch without git's own headers, and without one of the lines that begin a file then. */
function* headersLost(patch: string): Generator<string> {
  const bare = patch.replaceAll(/^diff --git .+\n/gm, "");
  yield bare;
  for (const { index, 0: header } of bare.matchAll(/^(---|\+\+\+) .+\n/gm))
    yield bare.slice(0, index) + bare.slice(index + header.length);
}

function there(mounted: Mounted): Tree {
  const all = readdirSync(mounted.folder, { recursive: true, encoding: "utf8" });
  const files = all.filter(
    (path) => !path.startsWith(".git") && statSync(join(mounted.folder, path)).isFile(),
  );
  return Object.fromEntries(files.map((path) => [path, mounted.read(path)]));
}

it(
  "whatever git says was changed, made, deleted and renamed is that, taken back and done again",
  { timeout: LONG },
  async () => {
    const kinds = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(names, text, { minKeys: 1 }),
        fc.array(change, { minLength: 1, maxLength: 5 }),
        fc.boolean(),
        async (before, changes, isRestarted) => {
          const after = changed(before, changes);
          await using mounted = await Mounted.with();
          mkdirSync(mounted.folder, { recursive: true });
          const git = (...given: string[]): string => mounted.run("git", ...given);
          put(mounted, before);
          git("init", "-q");
          git("add", "-A");
          git("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "before");
          put(mounted, after);
          git("add", "-A");
          const patch = git("diff", "--cached", "-M30");
          git("reset", "-q", "--hard");
          fc.pre(patch !== "");
          for (const [kind] of patch.matchAll(/^(rename to|deleted file|new file|@@)/gm))
            kinds.add(kind);
          for (const each of mangled)
            expect(parsePatch(renamed(patch, each))).toEqual(parsePatch(patch));
          for (const lost of headersLost(patch))
            expect([told(patch), undefined]).toContainEqual(told(lost));
          expect(there(mounted)).toEqual(before);
          await mounted.call("block_apply_patch", { patch }, ann);
          expect(there(mounted)).toEqual(after);
          if (isRestarted) await mounted.restart();
          await mounted.call("block_undo", {}, ann);
          expect(there(mounted)).toEqual(before);
          if (isRestarted) await mounted.restart();
          await mounted.call("block_redo", {}, ann);
          expect(there(mounted)).toEqual(after);
        },
      ),
      fcOptions(120),
    );
    expect(kinds.size).toBe(4);
  },
);
