/** The thread of inspection.ts. */

import { parentPort, workerData } from "node:worker_threads";
import { Connection } from "./connection.ts";
import type { InspectionTask } from "./inspection.ts";
import { sizeByKind } from "./size.ts";
import { Tables } from "./tables.ts";
import { verifyTables } from "./verify.ts";

const { file, task } = workerData as { file: string; task: InspectionTask };
using tables = new Tables(Connection.reader(file));
parentPort!.postMessage(task === "verify" ? verifyTables(tables) : sizeByKind(tables, file));
