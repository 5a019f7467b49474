import { fileTools } from "../../src/files/index.ts";
import { pino } from "pino";
import { HomeFolder } from "../../src/app/index.ts";
import { openWorld } from "../../src/app/world.ts";
import { realTimers } from "../../src/base/index.ts";
import { Hall } from "../../src/doors/hall.ts";
import { Metrics } from "../../src/doors/metrics.ts";
import type { Principal } from "../../src/doors/principal.ts";
import { TokenStore } from "../../src/doors/tokens/token-store.ts";
import type { TokenRequest } from "../../src/protocol/index.ts";
import { blockStreams, blockTools, ToolRegistry } from "../../src/tools/index.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** A hall over a temporary home with a kernel `main` and a context `main` in it. */
interface TestHall extends AsyncDisposable {
  readonly hall: Hall;
  readonly home: string;
  /** The owner's, with every scope. */
  readonly owner: { readonly token: string; readonly principal: Principal };
  /** A token that the owner mints, and who it is. */
  mint(request: TokenRequest): Promise<{ token: string; principal: Principal }>;
  /** What a draining server does first. */
  close(): void;
}

export async function openHall(): Promise<TestHall> {
  await using stack = new AsyncDisposableStack();
  const { path: home } = stack.use(temporaryFolder());
  const clock = { now: () => Date.now() };
  const world = stack.use(openWorld(new HomeFolder(home, "a test"), () => undefined));
  const kernel = await world.openOrCreate("main");
  await kernel.contexts.create("main", "ann");
  const tokens = stack.use(await TokenStore.open(home, { clock, timers: realTimers }));
  const { token } = await tokens.mintOwner("ann");
  const principal = await tokens.authenticate(token);
  const closing = new AbortController();
  const hall = new Hall({
    world,
    registry: new ToolRegistry([...blockTools, ...fileTools, ...blockStreams]),
    tokens,
    log: pino({ level: "silent" }),
    metrics: new Metrics(),
    clock,
    version: "0.0.0-test",
    closing: closing.signal,
  });
  const owned = stack.move();
  return {
    hall,
    home,
    owner: { token, principal },
    async mint(request) {
      const minted = await tokens.mint(principal, request);
      return { token: minted.token, principal: await tokens.authenticate(minted.token) };
    },
    close: () => closing.abort(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
