/** Hocuspocus and y-websocket, each with its own client, server in a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { HocuspocusProvider, HocuspocusProviderWebsocket } from "@hocuspocus/provider";
import { WebSocket } from "ws";
import { WebsocketProvider } from "y-websocket";
import { Doc, type Text } from "yjs";
import type { Contender, Editor } from "./editor.ts";

export async function hocuspocus(): Promise<Contender> {
  const script = fileURLToPath(new URL("./hocuspocus-server.ts", import.meta.url));
  const child = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "inherit"] });
  const port = await firstLine(child);
  return contender("Hocuspocus", child, async (room) => {
    const document = new Doc();
    const websocketProvider = new HocuspocusProviderWebsocket({
      url: `ws://127.0.0.1:${port}`,
      WebSocketPolyfill: WebSocket,
    });
    const synced = Promise.withResolvers<void>();
    const provider = new HocuspocusProvider({
      websocketProvider,
      name: room,
      document,
      onSynced: () => synced.resolve(),
    });
    provider.attach();
    await synced.promise;
    return editorOf(document, provider, () => {
      provider.destroy();
      websocketProvider.destroy();
    });
  });
}

export async function yWebsocket(): Promise<Contender> {
  const script = createRequire(import.meta.url).resolve("@y/websocket-server/package.json");
  const port = await freePort();
  const child = spawn(process.execPath, [script.replace("package.json", "src/server.js")], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, HOST: "127.0.0.1", PORT: String(port) },
  });
  await firstLine(child);
  return contender("y-websocket", child, async (room) => {
    const document = new Doc();
    const provider = new WebsocketProvider(`ws://127.0.0.1:${port}`, room, document, {
      WebSocketPolyfill: WebSocket as unknown as typeof globalThis.WebSocket,
      disableBc: true,
    });
    const synced = Promise.withResolvers<void>();
    provider.on("sync", (is: boolean) => is && synced.resolve());
    await synced.promise;
    return editorOf(document, provider, () => provider.destroy());
  });
}

function contender(
  name: string,
  child: ChildProcess,
  open: (room: string) => Promise<Editor>,
): Contender {
  let rooms = 0;
  return {
    name,
    pair: async () => {
      const room = `room-${(rooms += 1)}`;
      return [await open(room), await open(room)];
    },
    async [Symbol.asyncDispose]() {
      const gone = once(child, "exit");
      child.kill();
      await gone;
    },
  };
}

function editorOf(document: Doc, provider: unknown, close: () => void): Editor {
  const text: Text = document.getText("text");
  return {
    get length() {
      return text.length;
    },
    insert: (at, inserted) => text.insert(at, inserted),
    onRemote: (listener) =>
      document.on("update", (_: unknown, origin: unknown) => {
        if (origin === provider) listener();
      }),
    close,
  };
}

async function firstLine(child: ChildProcess): Promise<string> {
  const [line] = (await once(createInterface(child.stdout!), "line")) as [string];
  return line;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
