/** The near side of kumiko-server.ts. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { connect, type KumikoClient } from "../../../src/client/index.ts";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";

export class ServerProcess implements AsyncDisposable {
  readonly url: string;
  readonly token: string;
  readonly #child: ChildProcess;
  readonly #owned: AsyncDisposableStack;

  private constructor(
    child: ChildProcess,
    said: { url: string; token: string },
    owned: AsyncDisposableStack,
  ) {
    this.#child = child;
    this.url = said.url;
    this.token = said.token;
    this.#owned = owned;
  }

  static async start(): Promise<ServerProcess> {
    await using starting = new AsyncDisposableStack();
    const { path } = starting.use(temporaryFolder());
    const script = fileURLToPath(new URL("./kumiko-server.ts", import.meta.url));
    const child = fork(script, [path], { execArgv: ["--expose-gc"], stdio: "inherit" });
    starting.defer(async () => {
      const gone = once(child, "exit");
      child.send("end");
      await gone;
    });
    const [said] = (await once(child, "message")) as [{ url: string; token: string }];
    return new ServerProcess(child, said, starting.move());
  }

  connect(): KumikoClient {
    return connect({ url: this.url, token: this.token });
  }

  /** Resident megabytes, after a collection. */
  async megabytes(): Promise<number> {
    const answer = once(this.#child, "message");
    this.#child.send("rss");
    const [{ rss }] = (await answer) as [{ rss: number }];
    return rss / 1e6;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
