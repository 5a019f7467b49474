import { buffer } from "node:stream/consumers";

/** Where a command reads and prints; tests hand in their own. */
export interface Terminal {
  readonly folder: string;
  readonly colour: boolean;
  readInput(): Promise<Uint8Array>;
  print(text: string): Promise<void>;
  complain(text: string): Promise<void>;
  /** Ctrl-C and SIGTERM abort the signal instead of ending the process, until it is disposed. */
  interruption(): Interruption;
}

interface Interruption extends Disposable {
  readonly signal: Pick<AbortSignal, "aborted">;
}

export function processTerminal(): Terminal {
  return {
    folder: process.cwd(),
    colour: process.stdout.isTTY && !process.env["NO_COLOR"],
    readInput: () => buffer(process.stdin),
    print: (text) => write(process.stdout, text),
    complain: (text) => write(process.stderr, text),
    interruption: processInterruption,
  };
}

function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // A reader that has seen enough (`| head`) is no failure of ours.
  const settle = (error?: Error | null): void => {
    if (error && (error as NodeJS.ErrnoException).code !== "EPIPE") reject(error);
    else resolve();
  };
  stream.once("error", settle);
  stream.write(text, (error) => {
    settle(error);
    setImmediate(() => stream.off("error", settle));
  });
  return promise;
}

function processInterruption(): Interruption {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  process.on("SIGINT", abort);
  process.on("SIGTERM", abort);
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      process.off("SIGINT", abort);
      process.off("SIGTERM", abort);
    },
  };
}
