import { setTimeout as passing } from "node:timers/promises";
import { expect, test } from "vitest";
import { Random } from "../src/base/index.ts";
import { scaled, seed } from "./support/counts.ts";
import { Mounted } from "./support/mounted.ts";
import { hasVim } from "./support/programs.ts";
import { formatted, linesOf, type Style, writing } from "./support/writing-child.ts";

const LONG = 15 * 60_000;
/** Within so many milliseconds after the last change, block and file are equal. */
const SOON = 2_000;
const VIM: readonly Style[] = ["vim", "place"];
const STYLES: readonly Style[] = ["rename", "think", "sed", "append", "format", "link", ...VIM];
const ACTORS = ["claude", "codex", "gemini"];

/** An agent that adds tokens to lines of its own, until nobody else writes any more. */
async function edit(
  mounted: Mounted,
  { actor, path, random }: { actor: string; path: string; random: Random },
  done: AbortSignal,
): Promise<string[]> {
  const by = { actor, kind: "agent" } as const;
  const tokens: string[] = [];
  while (!done.aborted) {
    const token = `<${actor}-${tokens.length}>`;
    const read = { block_id: path, line_numbers: false };
    const { content } = await mounted.call<{ content: string }>("block_read", read, by);
    await passing(random.below(10));
    const lines = content.split("\n");
    const begin = random.pick(linesOf(actor));
    const line = lines.findIndex((each) => each.startsWith(begin));
    const changed = lines[line]!.replace(begin, `${begin}${token}`);
    const operations = [{ op: "replace", start_line: line, end_line: line + 1, content: changed }];
    await mounted.call("block_edit", { block_id: path, operations }, by);
    tokens.push(token);
    await passing(random.below(20));
  }
  return tokens;
}

async function equalSoon(mounted: Mounted, path: string): Promise<string> {
  const end = Date.now() + SOON;
  const { block } = mounted.mounts.first().source.files.at(path)!;
  for (;;) {
    const disk = mounted.read(path);
    const { text } = await mounted.kernel.read(block);
    if (text === disk) return text;
    if (Date.now() > end) expect(text).toBe(disk);
    await passing(10);
  }
}

for (const style of STYLES) {
  test.skipIf(VIM.includes(style) && !hasVim)(
    `what a program writes (${style}) while agents edit other lines: nothing is lost, nothing doubled`,
    { timeout: LONG },
    async () => {
      const path = `${style}.ts`;
      const start = `${[...ACTORS, style].flatMap(linesOf).join("\n")}\n`;
      await using mounted = await Mounted.with({ [path]: start }, { watch: true });
      const rounds = scaled(100);
      const done = new AbortController();
      const writer = writing(style, mounted.path(path), { rounds, seed: seed() }).finally(() =>
        done.abort(),
      );
      const agents = ACTORS.map((actor, index) =>
        edit(mounted, { actor, path, random: new Random(seed() + index) }, done.signal),
      );
      const [own, ...others] = await Promise.all([writer, ...agents]);
      await equalSoon(mounted, path);
      // What a formatter had not read when it last wrote is put right now.
      if (style === "format") formatted(mounted.path(path));
      await mounted.text(path);
      const text = await equalSoon(mounted, path);
      const tokens = [...own, ...others.flat()];
      expect(own).toHaveLength(rounds);
      expect(others.flat().length).toBeGreaterThan(rounds / 4);
      expect(tokens.filter((token) => text.split(token).length !== 2)).toEqual([]);
      // Without what was added it is what it was.
      expect(text.replaceAll(/^\/\/<append-\d+>\n|<[a-z]+-\d+>/gm, "")).toBe(start);
      expect(mounted.mounts.conflicts.list()).toEqual([]);
    },
  );
}
