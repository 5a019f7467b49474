import type { Command } from "commander";

/** How a folder is mounted; what is not said stays as it was said before. */
export interface MountingFlags {
  readonly manualSave?: boolean;
  readonly withoutRules?: boolean;
  readonly rule: readonly string[];
}

/** For every verb that mounts a folder. */
export function mountingOptions(command: Command): Command {
  return command
    .option("--manual-save", "write files only on kumiko file save; it stays so")
    .option("--no-manual-save", "write them at once again")
    .option(
      "--rule <pattern=level[!operations]>",
      "before the rules of kumiko.toml: 'docs/**=read_only', or 'src/**=read_write!delete' to have what is named behind ! asked for (read, append, change, delete; a comma between); several times; they stay until others are given",
      (rule: string, before: readonly string[]) => [...before, rule],
      [],
    )
    .option("--without-rules", "forget the rules that were given before");
}

interface MountSettings {
  readonly manual?: boolean;
  readonly rules?: string[];
}

/** Empty when nothing was said. */
export function mountSettings(flags: MountingFlags): MountSettings {
  const { manualSave, rule, withoutRules = false } = flags;
  return {
    ...(manualSave !== undefined && { manual: manualSave }),
    ...((withoutRules || rule.length > 0) && { rules: [...rule] }),
  };
}
