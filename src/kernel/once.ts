import { KeyedQueue } from "../base/index.ts";
import type { CommitDoor } from "./commit/door.ts";
import type { Invocation } from "./invocation.ts";

/**
 * Calls that are more than one commit, each carried out once: whoever makes one again under its id waits for it and gets
 * its answer. The answer is kept behind what was done, so a process that dies in between leaves a call that is made anew
 * and finds what there is then.
 */
export class Once {
  readonly #door: CommitDoor;
  readonly #calls = new KeyedQueue();

  constructor(door: CommitDoor) {
    this.#door = door;
  }

  async run<Answer>(
    invocation: Invocation,
    fingerprint: string,
    carryOut: () => Promise<Answer>,
  ): Promise<Answer> {
    const { actor, call } = invocation;
    if (call === undefined) return carryOut();
    return this.#calls.run([`${actor}:${call}`], async () => {
      const earlier = await this.#door.answered<Answer>(invocation, fingerprint);
      if (earlier !== undefined) return earlier;
      const answer = await carryOut();
      await this.#door.remember(invocation, fingerprint, answer);
      return answer;
    });
  }
}
