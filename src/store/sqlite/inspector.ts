/** The thread of inspection.ts. */

import { parentPort, workerData } from "node:worker_threads";
import { Connection } from "./connection.ts";
import type { InspectionTask } from "./inspection.ts";
import { rebuildIfBroken } from "./salvage/rebuild.ts";
import { sizeByKind } from "./size.ts";
import { Tables } from "./tables.ts";
import { verifyTables } from "./verify.ts";

const { file, task, target } = workerData as {
  file: string;
  task: InspectionTask;
  target: string | undefined;
};
parentPort!.postMessage(answer());

function answer(): unknown {
  if (task === "rebuild") return rebuildIfBroken(file, target!);
  using tables = new Tables(Connection.reader(file));
  return task === "verify" ? verifyTables(tables) : sizeByKind(tables, file);
}
