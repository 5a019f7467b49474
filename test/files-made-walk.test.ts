import { existsSync, rmSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { flipOf } from "../src/base/index.ts";
import { fcOptions } from "./support/counts.ts";
import { Mounted } from "./support/mounted.ts";

const PATH = "new.txt";
const OPEN = { "kumiko.toml": '[[rule]]\npath = "**"\nlevel = "admin"\n' };
const ACTORS = ["claude", "codex", "gemini"];

interface Written {
  readonly edit: string;
  readonly makes: boolean;
  active: boolean;
}

/** What several do to one file, and beside it in a few words whether there is to be one. */
class Walk {
  readonly #mounted: Mounted;
  readonly #edits: Written[] = [];
  #version = 0;
  #isThere = false;
  /** It is away because its making was undone. */
  #isUnmade = false;
  #text = "";

  constructor(mounted: Mounted) {
    this.#mounted = mounted;
  }

  async step({ what, pick }: { readonly what: string; readonly pick: number }): Promise<void> {
    const actor = ACTORS[pick % ACTORS.length]!;
    const chosen = this.#edits[pick % Math.max(1, this.#edits.length)];
    if (what === "restart") await this.#mounted.restart();
    else if (what === "undo" || what === "redo") await this.#flip(what, chosen);
    else if (this.#isThere === (what === "create")) return;
    else if (what === "create") await this.#create(actor, pick % 2 === 0 ? "" : `by ${actor}\n`);
    else if (what === "append") await this.#append(actor, `more by ${actor}\n`);
    else if (what === "empty") await this.#program("");
    else if (what === "write") await this.#program(`${this.#text}by a program\n`);
    else await this.#remove();
    expect([what, existsSync(this.#mounted.path(PATH))]).toEqual([what, this.#isThere]);
    if (this.#isThere) expect(this.#mounted.read(PATH)).toBe(this.#text);
  }

  async #create(actor: string, content: string): Promise<void> {
    await this.#mounted.call("file_create", { path: PATH, content }, { actor, kind: "agent" });
    await this.#look({ makes: true });
    this.#becomes(true);
  }

  async #append(actor: string, text: string): Promise<void> {
    const at = { block_id: PATH, offset: this.#text.length, base_version: this.#version };
    const input = { ...at, delete_count: 0, insert: text };
    await this.#mounted.call("block_splice", input, { actor, kind: "agent" });
    await this.#look();
  }

  async #program(text: string): Promise<void> {
    this.#mounted.write(PATH, text);
    await this.#mounted.text(PATH);
    await this.#look();
  }

  async #remove(): Promise<void> {
    rmSync(this.#mounted.path(PATH));
    await this.#mounted.text(PATH);
    await this.#look();
    this.#becomes(false);
  }

  async #flip(what: "undo" | "redo", chosen: Written | undefined): Promise<void> {
    if (chosen?.active !== (what === "undo")) return;
    const { edit, makes } = chosen;
    const answer = await this.#mounted.call<{ blocks: { made?: boolean }[] }>(
      `block_${what}`,
      { edit },
      { actor: "ann", kind: "person" },
    );
    await this.#look();
    const [was, wasUnmade] = [this.#isThere, this.#isUnmade];
    const since = this.#edits.slice(this.#edits.indexOf(chosen));
    const isUnmade = what === "undo" && makes && since.every(({ active }) => !active);
    const isRemade = what === "redo" && makes && wasUnmade;
    if (isUnmade || isRemade) this.#becomes(isRemade, { isUnmade });
    else if (!was && !(what === "undo" && wasUnmade)) this.#becomes(this.#text !== "");
    const { made } = answer.blocks[0]!;
    if (isUnmade || isRemade || made !== undefined)
      expect([what, made]).toEqual([what, this.#isThere]);
  }

  #becomes(isThere: boolean, { isUnmade = false } = {}): void {
    this.#isThere = isThere;
    this.#isUnmade = isUnmade;
  }

  /** What was written, by whomever. */
  async #look({ makes = false } = {}): Promise<void> {
    const { block } = this.#mounted.mounts.first().source.files.at(PATH)!;
    await this.#mounted.kernel.look(block, ({ document }) => {
      while (this.#version < document.version) {
        const { edit, kind } = document.entry(++this.#version);
        const flip = flipOf(edit);
        if (flip !== undefined)
          this.#edits.find((each) => each.edit === flip.target)!.active = flip.active;
        else if (kind === "text") this.#edits.push({ edit, makes, active: true });
      }
      this.#text = document.read();
    });
  }
}

test("a file is there as long as anything of it stands, whoever makes, writes, undoes and redoes", async () => {
  const often = fc.constantFrom("create", "append", "undo", "undo", "redo");
  const seldom = fc.constantFrom("empty", "write", "remove", "restart");
  const what = fc.oneof({ arbitrary: often, weight: 3 }, { arbitrary: seldom, weight: 1 });
  const steps = fc.array(fc.record({ what, pick: fc.nat(11) }), { minLength: 4, maxLength: 14 });
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      await using mounted = await Mounted.with(OPEN);
      const walk = new Walk(mounted);
      for (const step of all) await walk.step(step);
    }),
    fcOptions(150),
  );
});
