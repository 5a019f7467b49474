import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    pool: "forks",
    maxWorkers: 2,
    // Node 24 may die in one thread while it makes calls from WebAssembly to JavaScript faster in another (a fault in
    // V8's WasmImportWrapperCache): here they stay as they are. bin/kumiko does the same.
    execArgv: ["--wasm-wrapper-tiering-budget=2147483647"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
