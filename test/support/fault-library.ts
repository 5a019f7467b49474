import { spawnSync } from "node:child_process";
import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { root } from "./process.ts";

/** Compiles what makes writing calls fail (faults.c), to be preloaded into a child. */
export function compileFaults(folder: string): string {
  const library = join(folder, "faults.so");
  const source = join(root, "test/support/faults.c");
  const args = ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"];
  for (const compiler of ["cc", "gcc", "clang"]) {
    const { error, status, stderr } = spawnSync(compiler, args, { encoding: "utf8" });
    if (error !== undefined) continue;
    if (status !== 0) throw new Error(`${compiler} cannot compile ${source}:\n${stderr}`);
    return library;
  }
  throw new Error(
    "This test needs a C compiler (cc, gcc or clang) to make calls fail: install one.",
  );
}

/** `count` of the numbers 1 to `last`, spread evenly. */
export function pointsAmong(last: number, count: number, shift: number): number[] {
  const step = Math.max(1, Math.floor(last / count));
  return Array.from({ length: count }, (_, index) => 1 + index * step + (shift % step));
}

/** What the preloaded library does from now on: see faults.c. For the child, by the file in FAULT_CONTROL. */
export function controlFaults(values: readonly number[]): void {
  const bytes = Buffer.from(Int32Array.from(values).buffer);
  const file = openSync(process.env["FAULT_CONTROL"]!, "r+");
  writeSync(file, bytes, 0, bytes.length, 0);
  closeSync(file);
}

/** Fails at one point: once, for good, or with a write cut short, as the point goes. */
export function faultsAt(point: number, errno: number): void {
  controlFaults([0, point, errno, point % 3 === 1 ? 1 : 0, point % 3 === 2 ? 1 : 0, 0]);
}

export function noFaults(): void {
  controlFaults([0, 0, 0, 0, 0, 0]);
}
