import { randomUUID } from "node:crypto";
import { KumikoError } from "../../base/index.ts";
import type { Kernel } from "../../kernel/index.ts";
import { presence } from "../../protocol/index.ts";
import type { Hall } from "../hall.ts";
import type { Principal } from "../principal.ts";
import type { PresenceBoard } from "./presence-board.ts";
import { tooMany } from "./refusal.ts";

/** What one connection says of itself, under a key that only the server gives. */
export class OwnPresence {
  readonly key = randomUUID();
  readonly #hall: Hall;
  readonly #board: PresenceBoard;
  /** In a second. */
  readonly #most: number;
  #second = { since: 0, count: 0 };

  constructor(hall: Hall, board: PresenceBoard, most: number) {
    this.#hall = hall;
    this.#board = board;
    this.#most = most;
  }

  /** Throws `too_many`, or `frame_malformed` for what is no presence. */
  say(kernel: Kernel, principal: Principal, json: string): void {
    const now = this.#hall.clock.now();
    if (now - this.#second.since >= 1_000) this.#second = { since: now, count: 0 };
    if (++this.#second.count > this.#most) throw tooMany("presences came in a second", this.#most);
    this.#hall.rates.take(principal);
    const said = presence.safeParse(parsed(json));
    if (!said.success) {
      throw new KumikoError("frame_malformed", "What was said of oneself is no presence.", {
        why: said.error.issues[0]?.message ?? "",
      });
    }
    const { actor, kind } = principal;
    this.#board.put(kernel.id, { key: this.key, actor, kind, presence: said.data });
  }

  remove(kernel: Kernel): void {
    this.#board.remove(kernel.id, this.key);
  }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new KumikoError("frame_malformed", "What was said of oneself is no JSON.", {}, { cause });
  }
}
