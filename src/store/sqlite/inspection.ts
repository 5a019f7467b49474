import { Worker } from "node:worker_threads";

export type InspectionTask = "verify" | "size" | "rebuild";

/** Reads the whole database on a thread of its own, so that neither readers nor the writer wait for it. */
export async function inspect(
  file: string,
  task: InspectionTask,
  target?: string,
): Promise<unknown> {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const script = new URL(`./inspector.${extension}`, import.meta.url);
  const worker = new Worker(script, { workerData: { file, task, target }, execArgv: [] });
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  worker.on("message", resolve);
  worker.on("error", reject);
  const ended = Promise.withResolvers<void>();
  worker.on("exit", (code) => {
    reject(new Error(`The ${task} thread ended with ${code}.`));
    ended.resolve();
  });
  try {
    return await promise;
  } finally {
    // It ends by itself: ended by force inside SQLite, it would take the process with it.
    await ended.promise;
  }
}
