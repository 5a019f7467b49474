import { LoroDoc } from "loro-crdt";

/** What an update does on top of others, one entry for each unit: Loro may pack the same in several ways. */
export function operationsIn(updates: readonly Uint8Array[]): string[] {
  const doc = new LoroDoc();
  try {
    for (const update of updates) doc.import(update);
    const { changes, peers: writers } = doc.exportJsonUpdates();
    return changes.flatMap(({ id, ops }) =>
      ops.flatMap(({ counter, content }) => {
        const writer = writers?.[Number(id.split("@")[1])] ?? id;
        const entry = (i: number, what: string): string => `${counter + i}@${writer} ${what}`;
        if (content.type === "insert" && "text" in content) {
          return [...content.text].map((unit, i) => entry(i, `+${content.pos + i} ${unit}`));
        }
        if (content.type !== "delete" || !("start_id" in content)) return [entry(0, content.type)];
        const [first, peer] = content.start_id.split("@").map(Number);
        const length = Math.abs(content.len);
        return Array.from({ length }, (_, i) => {
          const along = content.len < 0 ? length - 1 - i : i;
          return entry(i, `-${first! + along}@${writers?.[peer!]}`);
        });
      }),
    );
  } finally {
    doc.free();
  }
}
