import type { Call } from "./call.ts";
import { CONTEXTS, type Dice } from "./dice.ts";
import {
  editCall,
  patchCall,
  replaceCall,
  rollbackCall,
  spliceCall,
  wideEditCall,
} from "./editing-calls.ts";
import type { Model } from "./model.ts";
import {
  blameCall,
  diffCall,
  historyCall,
  kernelSearchCall,
  listCall,
  readCall,
  searchCall,
  syncCall,
} from "./reading-calls.ts";
import { appendCall, createCall, flipCall, statusCall } from "./structure-calls.ts";
import { repeatedCall, wrongCall } from "./wrong-calls.ts";

const BLOCKS = 5;

/** Any call of any tool, or how many milliseconds pass. `threads`: also those that search on one. */
export function randomCall(dice: Dice, model: Model, threads: boolean): Call | number {
  const create = (): Call => createCall(dice, model, CONTEXTS);
  if (model.blocks.size < 2) return create();
  const choices: readonly (readonly [weight: number, choose: () => Call | number | undefined])[] = [
    [model.blocks.size < BLOCKS ? 8 : 1, create],
    [32, () => editCall(dice, model)],
    [7, () => spliceCall(dice, model)],
    [7, () => replaceCall(dice, model, threads)],
    [5, () => patchCall(dice, model)],
    [4, () => wideEditCall(dice, model)],
    [4, () => rollbackCall(dice, model)],
    [8, () => appendCall(dice)],
    [6, () => statusCall(dice, model)],
    [10, () => flipCall(dice, model)],
    [8, () => readCall(dice, model)],
    [2, () => searchCall(dice, threads)],
    [threads ? 12 : 0, () => kernelSearchCall(dice, CONTEXTS)],
    [3, () => listCall(dice, model, dice.pick(CONTEXTS))],
    [3, () => syncCall(dice, model)],
    [2, () => historyCall(dice)],
    [2, () => diffCall(dice)],
    [2, () => blameCall(dice, model)],
    [7, () => wrongCall(dice, model)],
    [6, () => repeatedCall(dice, model)],
    [3, () => dice.pick([1, 50, 100, 11_000])],
  ];
  let left = dice.below(choices.reduce((sum, [weight]) => sum + weight, 0));
  const [, choose] = choices.find(([weight]) => (left -= weight) < 0)!;
  return choose() ?? create();
}
