import { WebSocket } from "ws";
import { Replicas, type ReplicasOptions } from "../../src/client/replicas.ts";
import { HttpFront } from "../../src/doors/http/index.ts";
import { createReplicaDoor, type ReplicaDoorOptions } from "../../src/doors/replica/door.ts";
import type { Kernel } from "../../src/kernel/index.ts";
import { openHall } from "./hall.ts";

type TestHall = Awaited<ReturnType<typeof openHall>>;

/** A server with nothing but the replica door, on a free port. */
export class ReplicaServer implements AsyncDisposable {
  readonly test: TestHall;
  readonly url: string;
  readonly kernel: Kernel;
  readonly #owned: AsyncDisposableStack;

  private constructor(test: TestHall, url: string, kernel: Kernel, owned: AsyncDisposableStack) {
    this.test = test;
    this.url = url;
    this.kernel = kernel;
    this.#owned = owned;
  }

  static async start(options: ReplicaDoorOptions = {}): Promise<ReplicaServer> {
    await using stack = new AsyncDisposableStack();
    const test = stack.use(await openHall());
    const door = stack.use(createReplicaDoor(test.hall, options));
    const front = stack.use(await HttpFront.listen(test.hall, { host: "127.0.0.1", port: 0 }));
    front.add({ path: door.path, open: () => Promise.resolve(door) });
    const kernel = await test.hall.world.open("main");
    return new ReplicaServer(test, `http://127.0.0.1:${front.port}`, kernel, stack.move());
  }

  /** A block by ann, with a text. */
  async block(content: string): Promise<string> {
    return this.call("ann", "block_create", { role: "user", kind: "text", content }).then(
      (answer) => (answer as { block_id: string }).block_id,
    );
  }

  call(actor: string, tool: string, input: object): Promise<unknown> {
    return this.test.hall.registry.execute(this.kernel, tool, { actor, context: "main" }, input);
  }

  async text(block: string): Promise<string> {
    return (await this.kernel.read(block)).text;
  }

  /** How many have looked into bytes so far. */
  get vettingWorkers(): number {
    const { metrics } = this.test.hall;
    const line = /^kumiko_vetting_workers_total (\d+)$/m.exec(metrics.render());
    return Number(line?.[1] ?? 0);
  }

  client(options: Partial<ReplicasOptions> = {}): Replicas {
    return new Replicas({
      url: this.url,
      token: this.test.owner.token,
      kernel: "main",
      WebSocket,
      backoff: { first: 5, most: 50 },
      ...options,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
