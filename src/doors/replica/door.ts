import { realTimers, type Timers } from "../../base/index.ts";
import type { Kernel } from "../../kernel/index.ts";
import type { BegunCall, Hall } from "../hall.ts";
import type { SocketDoor } from "../http/door.ts";
import type { OutflowLimits } from "../http/outflow.ts";
import { Connection } from "./connection.ts";
import { connectionLimits, type ConnectionLimits } from "./connection-limits.ts";
import { Peers } from "./peers.ts";
import { PresenceBoard } from "./presence-board.ts";
import { Vetting, type VettingLimits } from "./vetting.ts";
import { WatchedBlock } from "./watched-block.ts";

export interface ReplicaDoorOptions {
  readonly timers?: Timers | undefined;
  readonly outflow?: OutflowLimits | undefined;
  readonly limits?: Partial<ConnectionLimits> | undefined;
  readonly vetting?: VettingLimits | undefined;
}

interface Watched {
  readonly watched: WatchedBlock;
  holders: number;
}

/** Replicas and presence over WebSocket. Its vetting worker goes with the server, or when it is disposed of. */
export function createReplicaDoor(
  hall: Hall,
  options: ReplicaDoorOptions = {},
): SocketDoor & AsyncDisposable {
  const { timers = realTimers, outflow } = options;
  const board = new PresenceBoard(timers);
  const note = ({ kernel, actor, kind, tool, input }: BegunCall): void =>
    board.note(kernel, { actor, kind }, { activity: tool, ...placeOf(input) });
  hall.watchers.add(note);
  const peers = new Peers();
  const vetting = new Vetting({
    limits: options.vetting,
    started: (why) => {
      hall.metrics.counter("kumiko_vetting_workers_total").add();
      if (why !== undefined) hall.log.warn({ why }, "a vetting worker was replaced");
    },
  });
  const stop = (): void =>
    void vetting[Symbol.asyncDispose]().catch((error: unknown) => {
      hall.log.warn({ err: error }, "the vetting worker could not be ended");
    });
  hall.closing.addEventListener("abort", stop, { once: true });
  const all = new Map<Kernel, Map<string, Watched>>();
  const watch = (kernel: Kernel, block: string): { watched: WatchedBlock } & Disposable => {
    const blocks = all.get(kernel) ?? new Map<string, Watched>();
    all.set(kernel, blocks);
    const known = blocks.get(block);
    const entry = known ?? { watched: new WatchedBlock(vetting, kernel, block), holders: 0 };
    blocks.set(block, entry);
    entry.holders++;
    return {
      watched: entry.watched,
      [Symbol.dispose]: () => {
        if (--entry.holders > 0) return;
        entry.watched[Symbol.dispose]();
        blocks.delete(block);
        if (blocks.size === 0) all.delete(kernel);
      },
    };
  };
  const limits = { ...connectionLimits, ...options.limits };
  return {
    path: "/replica",
    accept(socket, visitor) {
      void new Connection(socket, visitor, { hall, timers, peers, board, limits, outflow, watch });
    },
    [Symbol.asyncDispose]: () => {
      hall.watchers.delete(note);
      board[Symbol.dispose]();
      return vetting[Symbol.asyncDispose]();
    },
  };
}

/** The block that a call is about, if its arguments say so; nobody has checked them yet. */
function placeOf(input: unknown): { readonly block?: string } {
  if (typeof input !== "object" || input === null || !("block_id" in input)) return {};
  const { block_id: block } = input;
  return typeof block === "string" && block.length <= 120 ? { block } : {};
}
