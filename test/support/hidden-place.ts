interface Unit {
  readonly text: string;
  readonly version: number;
}

/** How many hidden units PLACE-2 looks through, from behind and from the beginning. */
const LOOKED_THROUGH = 16_384;

/** The last version that showed each unit. */
export class LastShown<Each extends Unit> {
  readonly #versions = new Map<Each, number>();

  show(units: Iterable<Each>, version: number): void {
    for (const unit of units) this.#versions.set(unit, version);
  }

  /** The version that hid a hidden unit: what none ever showed was hidden by the one that wrote it. */
  hiddenBy(unit: Each): number {
    const shown = this.#versions.get(unit);
    return shown === undefined ? unit.version : shown + 1;
  }
}

/** PLACE-1 and PLACE-2 taken at their word: where among all units new text stands. */
export function placeAmongAll<Each extends Unit>(
  all: readonly Each[],
  visible: readonly Each[],
  { at, remove }: { readonly at: number; readonly remove: number },
  shown: LastShown<Each>,
): number {
  if (remove > 0) return all.indexOf(visible[at]!);
  const before = visible[at - 1];
  const start = before === undefined ? 0 : all.indexOf(before) + 1;
  if (before !== undefined && before.text !== "\n") return start;
  const end = at < visible.length ? all.indexOf(visible[at]!) : all.length;
  let place = start;
  let since = before?.version ?? 0;
  const hidden = all.slice(start, end);
  const far = hidden.length - LOOKED_THROUGH;
  const last = hidden.findLastIndex(({ text }, index) => index >= far && text === "\n");
  if (last !== -1 && shown.hiddenBy(hidden[last]!) >= since) return start + last + 1;
  for (const [index, unit] of hidden.slice(0, LOOKED_THROUGH).entries()) {
    if (unit.text !== "\n" || shown.hiddenBy(unit) < since) continue;
    place = start + index + 1;
    since = Math.min(since, unit.version);
  }
  return place;
}
