/**
 * Somebody who writes a file in a process of its own, while others edit other lines of it. Prints what it wrote: one line of
 * JSON, at its end.
 *
 *   writing-child.ts <style> <file> <rounds> <seed>
 */

import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as passing } from "node:timers/promises";
import { Random } from "../../src/base/index.ts";
import { root, runProgram } from "./process.ts";

/** Others save dozens of times meanwhile. */
const THINKING = 300;
/** Between two writes, at most. */
const PAUSE = 200;
/** How many lines a writer has for its own. */
const SLOTS = 8;

/** The lines of one writer; what it adds stands behind their mark. A formatter finds nothing to do in them. */
export function linesOf(writer: string): string[] {
  return Array.from({ length: SLOTS }, (_, slot) => lineOf(writer, slot));
}

function lineOf(writer: string, slot: number): string {
  return `export const ${writer}_${slot} = ${slot}; //`;
}

/** As a real formatter has it: written in place. */
export function formatted(file: string): void {
  execFileSync(process.execPath, [join(root, "node_modules", "oxfmt", "bin", "oxfmt"), file], {
    stdio: ["ignore", "ignore", "pipe"],
  });
}

/** Reads, changes one line, and puts all of it in the place of what was read. */
function saved(file: string, change: (text: string) => string): void {
  put(file, change(readFileSync(file, "utf8")));
}

function put(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

/** Adds a token behind something. Vim writes nothing when it finds the file changed meanwhile, and is told again. */
function vim(file: string, [behind, token]: [string, string], ...first: readonly string[]): void {
  const written = `${file}.written`;
  const note = `if !&modified | call writefile([], "${written}") | endif`;
  const commands = [...first, `%s#${behind}#&${token}#`, "w!", note, "qa!"];
  const args = ["-u", "NONE", "-es", ...commands.flatMap((each) => ["-c", each]), file];
  rmSync(written, { force: true });
  for (let attempt = 1; !existsSync(written); attempt++) {
    if (attempt === 50) throw new Error(`vim does not write ${file}`);
    spawnSync("vim", args, { stdio: "ignore" });
  }
}

/** How each adds a token, to a line of its own or as one. */
const styles = {
  rename: (file: string, slot: number, token: string) => {
    saved(file, (text) => text.replace(lineOf("rename", slot), `$&${token}`));
  },
  /** What is saved by others while it thinks is not in what it writes. */
  think: async (file: string, slot: number, token: string) => {
    const text = readFileSync(file, "utf8");
    await passing(THINKING);
    put(file, text.replace(lineOf("think", slot), `$&${token}`));
  },
  sed: (file: string, slot: number, token: string) => {
    execFileSync("sed", ["-i", `s|${lineOf("sed", slot)}|&${token}|`, file]);
  },
  vim: (file: string, slot: number, token: string) => {
    vim(file, [lineOf("vim", slot), token]);
  },
  /** Written over, not replaced. */
  place: (file: string, slot: number, token: string) => {
    vim(file, [lineOf("place", slot), token], "set backupcopy=yes");
  },
  /** By way of a link, which stays. */
  link: (file: string, slot: number, token: string) => {
    const link = `${file}.link`;
    if (!existsSync(link)) symlinkSync(file, link);
    saved(realpathSync(link), (text) => text.replace(lineOf("link", slot), `$&${token}`));
  },
  append: (file: string, _: number, token: string) => {
    appendFileSync(file, `//${token}\n`);
  },
  /** Leaves its line for a formatter to put right. */
  format: (file: string, slot: number, token: string) => {
    const own = new RegExp(`(format_${slot}) *= *(${slot}; //)`);
    saved(file, (text) => text.replace(own, `$1   =   $2${token}`));
  },
};

export type Style = keyof typeof styles;

/** Starts one, and gives what it wrote when it is done. */
export async function writing(
  style: Style,
  file: string,
  { rounds, seed }: { readonly rounds: number; readonly seed: number },
): Promise<string[]> {
  const args = [import.meta.filename, style, file, String(rounds), String(seed)];
  const { code, stdout, stderr } = await runProgram(process.execPath, args);
  if (code !== 0) throw new Error(`the writer of ${file} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as string[];
}

async function write(
  style: Style,
  file: string,
  rounds: number,
  random: Random,
): Promise<string[]> {
  const tokens: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const token = `<${style}-${round}>`;
    await styles[style](file, round % SLOTS, token);
    tokens.push(token);
    if (style === "format") formatted(file);
    await passing(random.below(PAUSE));
  }
  return tokens;
}

if (process.argv[1] === import.meta.filename) {
  const [style, file, rounds, seed] = process.argv.slice(2) as [Style, string, string, string];
  const written = await write(style, file, Number(rounds), new Random(Number(seed)));
  process.stdout.write(JSON.stringify(written));
}
