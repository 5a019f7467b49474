import { buffer } from "node:stream/consumers";
import { isatty } from "node:tty";

/** Where a command reads and prints; tests hand in their own. */
export interface Terminal {
  /** Throws when it was deleted: a verb that needs none goes on without. */
  readonly folder: string;
  readonly environment: { readonly [name: string]: string | undefined };
  readonly colour: boolean;
  /** How wide it is; undefined when nobody looks and lines may be as long as they are. */
  readonly columns?: number | undefined;
  /** Whether a person sits there who can be asked. */
  readonly interactive: boolean;
  readInput(): Promise<Uint8Array>;
  print(text: string): Promise<void>;
  /** Prints bytes as they are, for a file or another program; undefined where a person looks. */
  readonly printBytes?: ((bytes: Uint8Array) => Promise<void>) | undefined;
  complain(text: string): Promise<void>;
  /** Shows a line in the place of the last one; an empty one takes it away. Undefined where nobody watches. */
  readonly progress?: ((line: string) => Promise<void>) | undefined;
  /** Asks the person and gives what they typed. */
  ask(question: string): Promise<string>;
  /** Ctrl-C and SIGTERM abort the signal instead of ending the process, until it is disposed. */
  interruption(): Interruption;
}

interface Interruption extends Disposable {
  readonly signal: AbortSignal;
}

export async function processTerminal(): Promise<Terminal> {
  const folder = await currentFolder();
  return {
    get folder() {
      return folder();
    },
    environment: process.env,
    colour: process.stdout.isTTY && !process.env["NO_COLOR"],
    // Of a terminal that does not say it is 0.
    columns: process.stdout.isTTY ? process.stdout.columns || undefined : undefined,
    // To look at process.stdin opens it.
    interactive: isatty(0) && isatty(2),
    readInput: () => buffer(process.stdin),
    print: (text) => write(process.stdout, process.stdout.isTTY ? harmless(text) : text),
    printBytes: process.stdout.isTTY ? undefined : (bytes) => write(process.stdout, bytes),
    complain: (text) => write(process.stderr, process.stderr.isTTY ? harmless(text) : text),
    progress: process.stderr.isTTY
      ? (line) => write(process.stderr, `\r\u001b[K${harmless(line)}`)
      : undefined,
    ask,
    interruption: processInterruption,
  };
}

/** A folder may be deleted while somebody stands in it. What the refusal needs is loaded only then. */
async function currentFolder(): Promise<() => string> {
  try {
    const folder = process.cwd();
    return () => folder;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
    const { KumikoError } = await import("../base/index.ts");
    const sentence =
      "The folder that you stand in is not there any more: go to another one, and try again there.";
    const gone = new KumikoError("root_gone", sentence, {}, { cause });
    return () => {
      throw gone;
    };
  }
}

// Everything that a terminal obeys but line ends, tabs and the styles that this command itself prints.
// eslint-disable-next-line no-control-regex
const COMMANDS = /(\u001b\[(?:1|2|22|31|32|36|39)m)|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Agents write the texts that are shown here: none of them may clear a screen or name a window. */
export function harmless(text: string): string {
  return text.replaceAll(COMMANDS, (found: string, style: string | undefined) =>
    style === undefined ? `\\x${found.charCodeAt(0).toString(16).padStart(2, "0")}` : style,
  );
}

/** Ctrl-C and Ctrl-D are an empty answer. */
async function ask(question: string): Promise<string> {
  const { createInterface } = await import("node:readline/promises");
  using lines = createInterface({ input: process.stdin, output: process.stderr });
  const giveUp = new AbortController();
  lines.once("SIGINT", () => giveUp.abort());
  lines.once("close", () => giveUp.abort());
  try {
    return await lines.question(question, { signal: giveUp.signal });
  } catch (error) {
    if (!giveUp.signal.aborted) throw error;
    return "";
  }
}

const heard = new WeakSet<NodeJS.WriteStream>();

function write(stream: NodeJS.WriteStream, text: string | Uint8Array): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // Whoever wrote is told. Without a listener the stream would end the process as well, and many may write at once.
  if (!heard.has(stream)) stream.on("error", () => undefined);
  heard.add(stream);
  // A reader that has seen enough (`| head`) is no failure of ours.
  stream.write(text, (error) => {
    if (error && (error as NodeJS.ErrnoException).code !== "EPIPE") reject(error);
    else resolve();
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
