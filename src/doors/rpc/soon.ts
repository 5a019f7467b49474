let due: (() => void)[] = [];

/** Runs something when this turn of the event loop is over: with one immediate, however many connections ask. */
export function soon(work: () => void): void {
  if (due.push(work) === 1) setImmediate(run);
}

function run(): void {
  const works = due;
  due = [];
  for (const work of works) work();
}
