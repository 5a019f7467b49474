/** The writer's thread: fsync waits here and nowhere else. */

import { parentPort, receiveMessageOnPort } from "node:worker_threads";
import type { FromWriter, Numbered, ToWriter } from "./requests.ts";
import { refusalOf, Writer } from "./writer.ts";

/** More than this wait for the next group: one huge transaction would make everyone in it wait. */
const GROUP = 512;

const port = parentPort!;
const waiting: Numbered[] = [];
let closing = false;
let scheduled = false;

const send = (message: FromWriter) => port.postMessage(message);

port.once("message", (message: ToWriter) => {
  if ("close" in message) return port.close();
  if (!("open" in message)) throw new Error("the first message opens the database");
  try {
    const writer = new Writer(message.open);
    if (writer.owesVacuum()) writer.vacuum([]);
    serve(writer);
  } catch (error) {
    send({ failed: refusalOf(error) });
  }
});

function serve(writer: Writer): void {
  port.on("message", (message: ToWriter) => {
    take(message);
    work(writer);
  });
}

function take(message: ToWriter): void {
  if ("close" in message) closing = true;
  else if ("requests" in message) waiting.push(...message.requests);
}

function work(writer: Writer): void {
  // Everything that came while the last group was written goes into this one.
  for (;;) {
    const received = receiveMessageOnPort(port);
    if (received === undefined) break;
    take(received.message as ToWriter);
  }
  if (waiting.length > 0) {
    const { results, again, vacuums } = writer.perform(waiting.splice(0, GROUP));
    if (results.length > 0) send({ results });
    waiting.push(...again);
    if (vacuums.length > 0) send({ results: writer.vacuum(vacuums).results });
    writer.checkpoint();
  }
  if (waiting.length > 0) {
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      work(writer);
    });
  } else if (closing) {
    writer.close();
    port.close();
  }
}
