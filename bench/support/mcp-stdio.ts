/** A process that speaks MCP over its pipes, asked one call after another. */
import { spawn } from "node:child_process";
import { once } from "node:events";

type Params = { readonly [name: string]: unknown };

export interface StdioClient extends AsyncDisposable {
  call(tool: string, input: Params): Promise<Params>;
}

/** Speaks 2025-11-25, which every server knows. */
export async function stdioClient(args: readonly string[], folder: string): Promise<StdioClient> {
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ["pipe", "pipe", "ignore"] });
  const waiting = new Map<number, (answer: Params) => void>();
  let begun: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      begun.push(chunk.subarray(start, end));
      const message = JSON.parse(Buffer.concat(begun).toString("utf8")) as Params & { id?: number };
      begun = [];
      start = end + 1;
      const answer = waiting.get(message.id ?? -1);
      waiting.delete(message.id ?? -1);
      answer?.(message);
    }
    begun.push(chunk.subarray(start));
  });
  let last = 0;
  const send = (message: Params): boolean =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const ask = (method: string, params: Params): Promise<Params> => {
    const { promise, resolve, reject } = Promise.withResolvers<Params>();
    const id = ++last;
    waiting.set(id, resolve);
    child.once("exit", reject);
    send({ id, method, params });
    return promise.finally(() => child.off("exit", reject));
  };
  await ask("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "bench", version: "1" },
  });
  send({ method: "notifications/initialized" });
  return {
    async call(tool, input) {
      const { result, error } = await ask("tools/call", { name: tool, arguments: input });
      const answer = result as (Params & { isError?: boolean }) | undefined;
      if (answer === undefined || answer.isError === true)
        throw new Error(`${tool} failed: ${JSON.stringify(error ?? answer)}`);
      return answer;
    },
    async [Symbol.asyncDispose]() {
      const ended = once(child, "exit");
      child.stdin.end();
      await ended;
    },
  };
}
