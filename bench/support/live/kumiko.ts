/** Two replicas of one block, with our server in a process of its own; every edit it passes on is fsynced. */
import { Replicas } from "../../../src/client/replicas.ts";
import type { Contender, Editor } from "./editor.ts";
import { ServerProcess } from "./server-process.ts";

export async function kumiko(): Promise<Contender> {
  const server = await ServerProcess.start();
  const client = server.connect();
  const open = async (block: string): Promise<Editor> => {
    const replicas = new Replicas({ url: server.url, token: server.token, kernel: "bench" });
    const replica = replicas.replica(block);
    await replica.ready();
    return {
      get length() {
        return replica.length;
      },
      insert: (at, insert) => replica.edit([{ at, remove: 0, insert }]),
      onRemote: (listener) => void replica.onChange(() => listener()),
      close: () => replicas[Symbol.dispose](),
    };
  };
  return {
    name: "Kumiko",
    async pair() {
      const { block_id: block } = (await client.kernel("bench").executeTool({
        name: "block_create",
        context: "main",
        arguments: { role: "user", kind: "text" },
      })) as { block_id: string };
      return [await open(block), await open(block)];
    },
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}
