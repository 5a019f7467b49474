import * as z from "zod";
import { defineTool, writing } from "../../tools/index.ts";
import type { Mount } from "../mount.ts";
import { Mounts } from "../mounts.ts";
import { fileStatus, pathArgument, placeFor } from "./shared.ts";

export const fileSave = defineTool({
  name: "file_save",
  description:
    "Writes a file's block to disk now, or all that are ahead of their files. Needed only in folders that are saved by " +
    "hand, after a disk was full, or to bring back a file that was deleted: otherwise an edit is on disk before its answer.",
  writes: true,
  keepsAnswer: true,
  input: z.strictObject({
    path: pathArgument.optional(),
    reader: writing.reader,
    call_id: writing.call_id,
  }),
  output: z.strictObject({
    saved: z.array(z.strictObject({ path: z.string(), block_id: z.string(), status: fileStatus })),
  }),
  examples: [{ when: "Everything that waits.", input: {} }],
  async run(kernel, { input, invocation }) {
    const { actor, kind = "person" } = invocation;
    // Of all that wait, those that the caller may write.
    const mayWrite = (mount: Mount, path: string): boolean =>
      mount.decide(path, "change", kind).decision === "allow";
    const wanted =
      input.path === undefined
        ? Mounts.of(kernel)
            .list()
            .flatMap((mount) =>
              mount.source.files
                .all()
                .flatMap((file) =>
                  file.ahead && mayWrite(mount, file.path) ? [{ mount, path: file.path }] : [],
                ),
            )
        : [await placeFor(kernel, invocation, input.path, "change")];
    const saved: { path: string; block_id: string; status: z.input<typeof fileStatus> }[] = [];
    for (const { mount, path } of wanted) {
      mount.check(path, "change", { actor, kind });
      const file = mount.source.files.at(path) ?? (await mount.source.load(path));
      await mount.source.refresh(file);
      // One that was deleted is made again.
      if (file.isAway) mount.check(path, "create", { actor, kind });
      await mount.source.saving.save(file);
      saved.push({ path, block_id: file.block, status: await mount.statusOf(path) });
    }
    return { saved };
  },
});
