/**
 * Applies a patch to a mounted folder and kills itself before a step of it (test/files-patching-crash.test.ts): before each
 * call that writes to the journal or moves or removes a file, counted from 0. Ends by itself when there are fewer.
 *
 *   patching-child.ts <place> <patch> <step>
 */

import { Mounted } from "./mounted.ts";

/** Has each call of a method counted, and the process die before one. */
function dyingBefore(last: number): <Each>(owner: Each, ...names: (keyof Each)[]) => void {
  let step = 0;
  return (owner, ...names) => {
    for (const name of names) {
      const method = owner[name] as (...given: unknown[]) => unknown;
      const dying = (...given: unknown[]): unknown => {
        if (step++ === last) process.kill(process.pid, "SIGKILL");
        return method.apply(owner, given);
      };
      Object.assign(owner as object, { [name]: dying });
    }
  };
}

const [place, patch, step] = process.argv.slice(2) as [string, string, string];
await using mounted = await Mounted.at(place, { watch: false });
const { kernel } = mounted;
const { disk } = mounted.mounts.first().source;
const dying = dyingBefore(Number(step));
dying(kernel, "createFile", "editText", "changeState", "makeFiles");
dying(disk, "move", "remove");
await mounted.call("block_apply_patch", { patch });
