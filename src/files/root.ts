import { statSync } from "node:fs";
import { join } from "node:path";
import type { Known } from "./known.ts";
import { lookAt } from "./look.ts";

/** Which folder a root is, so that another one in its place is noticed. */
export class Root {
  readonly path: string;
  #identity: { readonly device: bigint; readonly inode: bigint };

  constructor(path: string) {
    this.path = path;
    const { dev, ino } = statSync(path, { bigint: true });
    this.#identity = { device: dev, inode: ino };
  }

  isThere(): boolean {
    const look = this.#look();
    return look?.inode === this.#identity.inode && look.device === this.#identity.device;
  }

  /**
   * Whether what is there now can be taken for the root again: the same folder, or one (mounted anew, cloned anew)
   * with at least half of what was known to be at its top. An empty place where something was mounted is neither.
   */
  takeBack(known: Known): boolean {
    const look = this.#look();
    if (look === undefined) return false;
    const { inode, device } = this.#identity;
    const isSame = look.inode === inode && look.device === device;
    if (!isSame && !this.#hasMost(known)) return false;
    this.#identity = { device: look.device, inode: look.inode };
    return true;
  }

  #hasMost(known: Known): boolean {
    const top = known.folder("");
    const names = [...(top?.files.keys() ?? []), ...(top?.folders ?? [])];
    const there = names.filter((name) => lookAt(join(this.path, name)) !== undefined);
    return there.length * 2 >= names.length;
  }

  #look() {
    try {
      const look = lookAt(this.path);
      return look?.kind === "folder" ? look : undefined;
    } catch {
      // A dead network mount answers with an error: nobody can say what is in it.
      return undefined;
    }
  }
}
