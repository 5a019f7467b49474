import { expect } from "vitest";
import { read } from "./call.ts";
import { CONTEXTS, type Dice } from "./dice.ts";
import type { Model, ModelBlock } from "./model.ts";
import type { Player } from "./player.ts";
import { blameCall, historyCall, listCall } from "./reading-calls.ts";
import { flipOf } from "./structure-calls.ts";

/** Every version of every block, and the whole kernel at every position. */
export async function everything(player: Player, model: Model, dice: Dice): Promise<void> {
  for (const block of model.all) {
    await player.play(historyCall(dice, block, true));
    await player.play(blameCall(dice, model, block, true));
    for (let version = 0; version <= block.text.version; version++)
      await player.play({
        tool: "block_read",
        caller: dice.caller(),
        input: { block_id: block.id, version, line_numbers: false },
        expected: () => read,
        check: ({ content }) => expect(content).toBe(block.text.read(version).replace(/\n$/, "")),
      });
  }
  for (let position = 0; position <= model.head; position++)
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
  await player.compare(undefined);
  if (redo === undefined) return;
  await flipAll(player, model, dice, active, "redo");
  expect(model.all.map(textOf)).toEqual(before);
  await player.compare(undefined);
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
