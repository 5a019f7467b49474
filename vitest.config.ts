import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take half a minute and more: begun last, they would run on while nobody else has work. */
const LONG = [
  "test/doors-together",
  "src/store/sqlite/sqlite-store",
  "test/cli-kernel",
  "test/search",
  "test/package",
  "test/kernel-crash",
  "test/files-watching",
  "test/gate-doors",
];

// Programs and threads that are started again and again need not compile everything each time, nor leave
// what they compiled where a person keeps theirs.
process.env["NODE_COMPILE_CACHE"] ??= join(
  import.meta.dirname,
  "node_modules",
  ".cache",
  "kumiko-compiled",
);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = LONG.findIndex((name) => moduleId.endsWith(`${name}.test.ts`));
      return at === -1 ? LONG.length : at;
    };
    const usual = await super.sort.call(this, files);
    return usual.toSorted((left, right) => place(left) - place(right));
  }
}

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    pool: "forks",
    // Most of them wait for a disk, a child or a clock now and then.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // Node 24 may die in one thread while it makes calls from WebAssembly to JavaScript faster in another (a fault in
    // V8's WasmImportWrapperCache): here they stay as they are. bin/kumiko does the same.
    execArgv: ["--wasm-wrapper-tiering-budget=2147483647"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
