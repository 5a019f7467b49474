import { KumikoError } from "../base/index.ts";

/** What was done of an Edit stands, since taking it back failed as well: somebody has to know both. */
export function doneInPart(edit: string, why: unknown, inTheWay: unknown): KumikoError {
  const [first, second] = [why, inTheWay].map((error) =>
    error instanceof Error ? error.message : String(error),
  );
  return new KumikoError(
    "done_in_part",
    `It could not be done whole: ${first} What was done of it could not be taken back: ${second} ` +
      `Make way for that, then take Edit ${edit} back with block_undo.`,
    { edit },
    { cause: new AggregateError([why, inTheWay]) },
  );
}
