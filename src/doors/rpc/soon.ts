let due: (() => void)[] = [];

/** Runs something when this turn of the event loop is over: with one immediate, however many connections ask. */
export function soon(work: () => void): void {
  if (due.push(work) === 1) setImmediate(run);
}

function run(): void {
  const works = due.values();
  due = [];
  carryOn(works);
}

/** What one throws, nobody else suffers from: the others have their turn after it. */
function carryOn(works: IteratorObject<() => void>): void {
  let isDone = false;
  try {
    for (const work of works) work();
    isDone = true;
  } finally {
    if (!isDone) setImmediate(carryOn, works);
  }
}
