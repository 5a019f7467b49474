import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Random } from "../../src/base/index.ts";
import { seed } from "./counts.ts";

/** What is outside of a folder; nothing of it may ever be read or changed through the folder. */
export const CANARY = "what no path inside may reach";

export function makeOutside(parent: string): string {
  const outside = join(parent, "outside");
  mkdirSync(join(outside, "root-evil"), { recursive: true });
  writeFileSync(join(outside, "canary.txt"), CANARY);
  writeFileSync(join(outside, "root-evil", "canary.txt"), CANARY);
  mkdirSync(join(outside, "root"));
  return outside;
}

/** Anew, without touching the folder that holds it. */
export function makeRoot(root: string): void {
  mkdirSync(root, { recursive: true });
  for (const name of readdirSync(root)) rmSync(join(root, name), { recursive: true, force: true });
  mkdirSync(join(root, "sub"), { recursive: true });
  writeFileSync(join(root, "notes.txt"), "notes");
  writeFileSync(join(root, "sub", "in.txt"), "in");
  const links: Record<string, string> = {
    inside: "sub",
    "chain-in": "chain-in-2",
    "chain-in-2": "inside/../notes.txt",
    "dangling-in": "sub/not-yet",
    "back-in": "../root/notes.txt",
    "absolute-in": join(root, "notes.txt"),
    up: "..",
    "out-folder": "../root-evil",
    "out-file": "../canary.txt",
    "out-absolute": join(root, "../canary.txt"),
    "out-dangling": "../new-canary.txt",
    "out-dangling-folder": "../new-folder/x",
    "out-chain": "out-chain-2",
    "out-chain-2": "sub/../out-chain-3",
    "out-chain-3": "../root/../canary.txt",
    "prefix-twin": `${root}-evil`,
    "proc-root": "/proc/self/root",
    "proc-cwd": "/proc/self/cwd",
    slash: "/",
    circle: "circle-2",
    "circle-2": "circle",
  };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, name));
  symlinkSync("../../canary.txt", join(root, "sub", "deep-out"));
}

/** Names, contents and times of a folder and all in it; of the root only that it is there. */
export function seen(folder: string): unknown[] {
  const inside = readdirSync(folder, { withFileTypes: true }).flatMap((entry): unknown[] => {
    const path = join(folder, entry.name);
    if (entry.name === "root") return [path];
    return entry.isDirectory() ? seen(path) : [path, statOf(path), readFileSync(path, "utf8")];
  });
  return [folder, statOf(folder), ...inside];
}

function statOf(path: string): bigint[] {
  const { ino, mode, mtimeNs, ctimeNs } = lstatSync(path, { bigint: true });
  return [ino, mode, mtimeNs, ctimeNs];
}

/** Paths that lead out, without disguise. */
export function waysOut(root: string): string[] {
  const outside = join(root, "..");
  const ways = [
    "..",
    "../root-evil",
    "sub/../..",
    "sub/../../root-evil",
    "new/../..",
    "./..",
    ".//..",
    "inside/../..",
    "notes.txt/../..",
    "up",
    "up/root-evil",
    "up/root/..",
    "sub/../up",
    "out-folder",
    "prefix-twin",
    `slash${outside}`,
    `proc-root${outside}`,
    "proc-cwd",
    outside,
    `${root}/..`,
    `${root}-evil`,
    `/${outside}`,
    `/proc/self/root${outside}`,
    `/proc/self/fd/../root${outside}`,
    `${root}/../root/..`,
  ];
  const targets = [
    "canary.txt",
    "new.txt",
    "CANARY.TXT",
    "canary.txt.",
    "canary.txt ",
    "",
    "new/x",
  ];
  const alone = [
    "out-file",
    "out-absolute",
    "out-dangling",
    "out-dangling-folder",
    "out-chain",
    "out-chain-2",
    "sub/deep-out",
    "inside/deep-out",
    "circle",
    "circle/x",
    "",
    "\0",
    "/",
    "//",
  ];
  return [
    ...ways.flatMap((way) => targets.map((target) => (target === "" ? way : `${way}/${target}`))),
    ...alone,
  ];
}

/** Every way out in every disguise, cut to a random choice of so many. Some mean odd names inside. */
export function allPayloads(root: string, count: number): string[] {
  const plain = [...waysOut(root), "~", "~/canary.txt", "$HOME/x", "-", " ", `file://${root}/../x`];
  const disguises: ((path: string) => string)[] = [
    (path) => path,
    (path) => path.replaceAll("/", "//"),
    (path) => path.replaceAll("/", "/./"),
    (path) => path.replaceAll("..", "%2e%2e"),
    (path) => encodeURIComponent(path),
    (path) => encodeURIComponent(encodeURIComponent(path)),
    (path) => path.replaceAll("/", "\\"),
    (path) => path.replaceAll("..", ".\u200b."),
    (path) => path.replaceAll("/", "\u2215"),
    (path) => path.replaceAll("..", "\uFF0E\uFF0E"),
    (path) => path.replaceAll("..", "...."),
    (path) => path.replaceAll("..", ".. "),
    (path) => path.replaceAll("..", "..\u0000"),
    (path) => `${path}\0.txt`,
    (path) => `${path}/`,
    (path) => `${path}/.`,
    (path) => `"${path}"`,
    (path) => ` ${path}`,
    (path) => path.toUpperCase(),
    (path) => path.normalize("NFD").replaceAll("a", "\uFF41"),
    (path) => `sub/${path}`,
    (path) => `inside/../${path}`,
  ];
  const all = [...new Set(plain.flatMap((path) => disguises.map((disguise) => disguise(path))))];
  const random = new Random(seed());
  const rest = all.slice(plain.length);
  while (plain.length < count && rest.length > 0) {
    plain.push(...rest.splice(random.below(rest.length), 1));
  }
  return count < plain.length ? pickSome(plain, count, random) : plain;
}

function pickSome(all: readonly string[], count: number, random: Random): string[] {
  const left = [...all];
  return Array.from({ length: count }, () => left.splice(random.below(left.length), 1)[0]!);
}

/** In memory where there is such a folder: thousands of files are synced here. */
export function memory(): string | undefined {
  return existsSync("/dev/shm") ? "/dev/shm" : undefined;
}
