import { expect } from "vitest";
import { read } from "./call.ts";
import { CONTEXTS, type Dice } from "./dice.ts";
import type { Model, ModelBlock } from "./model.ts";
import type { Player } from "./player.ts";
import { blameCall, historyCall, listCall, readCall } from "./reading-calls.ts";
import { flipOf } from "./structure-calls.ts";

/** Everything that can be seen now, without what waits to be written; of one block all there is. */
export async function compare(
  player: Player,
  model: Model,
  dice: Dice,
  block?: ModelBlock,
): Promise<void> {
  const calm = model.all.filter(({ id }) => !model.isWaiting(id));
  if (calm.length === model.blocks.size)
    for (const context of CONTEXTS) await player.play(listCall(dice, model, context, {}));
  else for (const each of calm) await player.play(readCall(dice, model, each));
  if (block === undefined || !calm.includes(block)) return;
  await player.play(blameCall(dice, model, block, true));
  await player.play(historyCall(dice, block, true));
}

/** Lets what waits be written. */
export async function settle(player: Player, model: Model, dice: Dice): Promise<void> {
  for (const block of model.all)
    if (model.isWaiting(block.id)) await player.play(blameCall(dice, model, block, true));
}

/** Every version of every block, and the whole kernel at every position, or at every so manieth. */
export async function everything(
  player: Player,
  model: Model,
  dice: Dice,
  step = 1,
): Promise<void> {
  for (const block of model.all) {
    await player.play(historyCall(dice, block, true));
    await player.play(blameCall(dice, model, block, true));
    for (let version = 0; version <= block.text.version; version++)
      await player.play({
        tool: "block_read",
        caller: dice.caller(),
        input: { block_id: block.id, version, line_numbers: false },
        expected: () => read,
        check: ({ content }) => expect(content).toBe(block.text.read(version)),
      });
  }
  for (let position = 0; position <= model.head; position += step)
    for (const context of CONTEXTS) await player.play(listCall(dice, model, context, { position }));
}

/** In any order: first back to what blocks were created with, then to nothing. */
export async function undoEverything(
  player: Player,
  model: Model,
  dice: Dice,
  redo?: "and redo it",
): Promise<void> {
  const before = model.all.map(textOf);
  const creations = new Set(model.all.map(({ versions }) => versions[0]!.entry.edit));
  const active = [...model.edits.values()].filter((edit) => edit.active).map(({ id }) => id);
  const edits = active.filter((id) => !creations.has(id));
  await flipAll(player, model, dice, edits, "undo");
  for (const block of model.all)
    if (model.edits.get(block.versions[0]!.entry.edit)?.active !== false)
      expect(block.text.read()).toBe(block.text.read(1));
  const rest = active.filter((id) => creations.has(id));
  await flipAll(player, model, dice, rest, "undo");
  expect(model.all.map(textOf)).toEqual(model.all.map(() => ""));
  await compare(player, model, dice);
  if (redo === undefined) return;
  await flipAll(player, model, dice, active, "redo");
  expect(model.all.map(textOf)).toEqual(before);
  await compare(player, model, dice);
}

async function flipAll(
  player: Player,
  model: Model,
  dice: Dice,
  ids: readonly string[],
  what: "undo" | "redo",
): Promise<void> {
  const left = [...ids];
  while (left.length > 0) {
    const [edit] = left.splice(dice.below(left.length), 1);
    await player.play(flipOf(model, what, { edit }, dice.caller()));
  }
}

function textOf({ text }: ModelBlock): string {
  return text.read();
}
