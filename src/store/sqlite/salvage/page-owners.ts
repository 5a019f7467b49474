import { cellsOf, headerOffset, kinds, TABLE_INTERIOR } from "./cells.ts";
import type { PageFile } from "./page-file.ts";

/** Which table or index each page is part of, as far as the trees still lead to it. */
export function pageOwners(pages: PageFile): Map<number, string> {
  const owners = new Map<number, string>();
  visit(pages, 1, "sqlite_schema", owners);
  const schema = [...owners.keys()];
  for (const page of schema) {
    for (const cell of cellsOf(pages, page, kinds.tableLeaf)) {
      const [, name, , root] = cell?.values ?? [];
      if (typeof name === "string" && typeof root === "number") visit(pages, root, name, owners);
    }
  }
  return owners;
}

/** Pages that hold nothing any more. What they held before may still lie in them. */
export function freePages(pages: PageFile): Set<number> {
  const free = new Set<number>();
  let trunk = pages.page(1).readUInt32BE(32);
  while (trunk > 1 && trunk <= pages.count && !free.has(trunk)) {
    free.add(trunk);
    const page = pages.page(trunk);
    const leaves = Math.min(page.readUInt32BE(4), Math.floor(pages.usable / 4) - 2);
    for (let index = 0; index < leaves; index += 1) free.add(page.readUInt32BE(8 + 4 * index));
    trunk = page.readUInt32BE(0);
  }
  return free;
}

function visit(pages: PageFile, root: number, owner: string, owners: Map<number, string>): void {
  const open = [root];
  for (let number = open.pop(); number !== undefined; number = open.pop()) {
    if (number < 1 || number > pages.count || owners.has(number)) continue;
    owners.set(number, owner);
    const page = pages.page(number);
    const begin = headerOffset(number);
    if (page[begin] !== TABLE_INTERIOR && page[begin] !== kinds.indexInterior) continue;
    open.push(page.readUInt32BE(begin + 8));
    const count = Math.min(
      page.readUInt16BE(begin + 3),
      Math.floor((pages.usable - begin) / 2) - 6,
    );
    for (let index = 0; index < count; index += 1) {
      const cell = page.readUInt16BE(begin + 12 + 2 * index);
      if (cell + 4 <= pages.usable) open.push(page.readUInt32BE(cell));
    }
  }
}
