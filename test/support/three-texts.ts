import type { Random } from "../../src/base/index.ts";

export interface ThreeTexts {
  readonly base: string;
  readonly memory: string;
  readonly disk: string;
}

interface ThreeTextsOptions {
  /** Lines of base that are written often (`}`, an empty one), in a hundred. */
  readonly common: number;
  /** Places that a side changes, in a hundred. */
  readonly changed: number;
  /** Changes that both sides make in the same way, in a hundred. */
  readonly shared: number;
  /** Whether a final newline may be missing. */
  readonly ragged: boolean;
}

const COMMON = ["}", "", "x"];

/**
 * A text and what two sides made of it. Everything that a side writes is a line of its own (`m7`, `d8`; `s9` when both
 * write it), so that where it went can be told; some is written often.
 */
export function threeTexts(random: Random, options: ThreeTextsOptions): ThreeTexts {
  const chance = (percent: number): boolean => random.below(100) < percent;
  let written = 0;
  const write = (who: string): string[] =>
    Array.from({ length: 1 + random.below(3) }, () =>
      chance(options.common / 2) ? random.pick(COMMON) : `${who}${written++}`,
    );
  const base: string[] = [];
  const memory: string[] = [];
  const disk: string[] = [];
  const lines = random.below(14);
  const insert = (): void => {
    if (chance(options.shared) && chance(options.changed)) {
      const both = write("s");
      memory.push(...both);
      disk.push(...both);
    }
    if (chance(options.changed / 2)) memory.push(...write("m"));
    if (chance(options.changed / 2)) disk.push(...write("d"));
  };
  for (let at = 0; at < lines; at++) {
    insert();
    const line = chance(options.common) ? random.pick(COMMON) : `b${at}`;
    base.push(line);
    if (chance(options.shared) && chance(options.changed)) {
      const both = chance(40) ? [] : write("s");
      memory.push(...both);
      disk.push(...both);
      continue;
    }
    const kept = (who: string): string[] => {
      if (!chance(options.changed)) return [line];
      return chance(50) ? [] : write(who);
    };
    memory.push(...kept("m"));
    disk.push(...kept("d"));
  }
  insert();
  const text = (side: string[]): string => {
    const ends = !options.ragged || chance(60) || side.at(-1) === "";
    return side.join("\n") + (side.length > 0 && ends ? "\n" : "");
  };
  return { base: text(base), memory: text(memory), disk: text(disk) };
}
