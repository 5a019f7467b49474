/** The thread of scanner.ts: what runs here may be ended at any moment. */

import { parentPort } from "node:worker_threads";
import { KumikoError } from "../../base/index.ts";
import {
  asPatternError,
  findReplacements,
  type FoundLine,
  TextMatcher,
  WatchedScan,
} from "../../base/search/index.ts";
import type { FromScan, ScanTask } from "./scan-messages.ts";

const port = parentPort!;
const send = (message: FromScan): void => port.postMessage(message);

port.on("message", (task: ScanTask) => {
  try {
    if ("scan" in task) scan(task.scan);
    else send({ replacements: findReplacements(task.replace.text, task.replace.wanted) });
  } catch (error) {
    const refused = asPatternError(patternOf(task), error);
    if (!(refused instanceof KumikoError)) throw refused;
    const { code, message: sentence, facts } = refused;
    send({ refused: { code, sentence, facts } });
  }
});
send({ ready: true });

function scan({ query, limits, part, texts }: Scan): void {
  const matcher = new TextMatcher(query);
  const buffered: { block: string; line: FoundLine }[] = [];
  const flush = (): void => {
    if (buffered.length > 0) send({ found: buffered.splice(0) });
  };
  const run = new WatchedScan(matcher, limits, part, {
    more: (block) => send({ more: block }),
    slow: (block) => send({ slow: block }),
    found: (block, line) => {
      buffered.push({ block, line });
      // The next line may be the one from which nobody comes back.
      if (!matcher.isLiteral) flush();
    },
  });
  for (const { block, text } of texts) if (!run.scan(block, text)) break;
  flush();
  send({ done: { truncated: run.truncated, timedOut: run.timedOut } });
}

type Scan = Extract<ScanTask, { scan: unknown }>["scan"];

function patternOf(task: ScanTask): string {
  return "scan" in task ? task.scan.query.query : task.replace.wanted.pattern;
}
