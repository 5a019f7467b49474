// What a model says next, given what it was shown: the steps of a trial, one after the other.

/** Requests in which a tool may be missing before the model gives up: agents start MCP servers while they work. */
const PATIENCE = 30;

/** A model that follows a list of steps. `steps[].call` is a tool's name, `steps[].say` ends it. */
export class Script {
  #wire;
  #steps;
  #meanwhile;
  #taken = 0;
  #waited = 0;
  #answers = 0;
  /** Each step that was taken: its id, and what the model was shown of its result. */
  calls = [];
  /** Every tool that was offered at some time. */
  offered = new Set();
  /** Why the steps could not all be taken. */
  trouble = null;

  /** `meanwhile` is the step that is taken while a tool is not offered. */
  constructor({ wire, steps, meanwhile }) {
    this.#wire = wire;
    this.#steps = steps;
    this.#meanwhile = meanwhile;
  }

  get isDone() {
    return this.#taken === this.#steps.length;
  }

  /** What is streamed for a request, and whether it is for want of a tool. */
  answer(request) {
    const offered = this.#wire.offered(request);
    this.#answers += 1;
    const id = `call_${this.#answers}`;
    // Without tools a model is only asked for a title or the like.
    if (offered.length === 0)
      return { waits: false, text: this.#wire.stream({ say: "Notes" }, id, request) };
    for (const name of offered) this.offered.add(name);
    for (const call of this.calls) call.shown ??= this.#wire.shown(request, call.id);
    const step = this.#next(offered);
    const waits = step === this.#meanwhile;
    if (!waits && step.call !== undefined) this.calls.push({ id, call: step.call });
    return { waits, text: this.#wire.stream(step, id, request) };
  }

  #next(offered) {
    const step = this.#steps[this.#taken];
    if (step === undefined) return { say: "There is nothing left to do." };
    if (step.call !== undefined && !offered.includes(step.call)) {
      this.#waited += 1;
      if (this.#waited <= PATIENCE) return this.#meanwhile;
      this.trouble = `the tool ${step.call} was never offered to the model`;
      return { say: this.trouble };
    }
    this.#taken += 1;
    return step;
  }
}
