import * as z from "zod";
import { KumikoError } from "../../base/index.ts";
import { defineTool, writing } from "../../tools/index.ts";
import type { FileCaller } from "../mount.ts";
import type { MountedFile } from "../mounted-file.ts";
import { Mounts } from "../mounts.ts";
import { findPlace, type FoundPlace } from "../places.ts";
import { fileStatus, pathArgument } from "./shared.ts";

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
    left_out: z
      .array(z.strictObject({ path: z.string(), block_id: z.string(), why: z.string() }))
      .optional()
      .describe("of all that are ahead, those that you may not write"),
  }),
  examples: [{ when: "Everything that waits.", input: {} }],
  async run(kernel, { input, invocation }) {
    const { actor, kind = "person" } = invocation;
    const mounts = Mounts.of(kernel);
    const wanted =
      input.path === undefined ? ahead(mounts) : [findPlace(mounts, input.path, invocation)];
    const saved: { path: string; block_id: string; status: z.input<typeof fileStatus> }[] = [];
    const leftOut: { path: string; block_id: string; why: string }[] = [];
    for (const { mount, path } of wanted) {
      const file = await writable({ mount, path }, { actor, kind });
      if (!(file instanceof KumikoError)) {
        await mount.source.saving.save(file);
        saved.push({ path, block_id: file.block, status: await mount.statusOf(path) });
        continue;
      }
      if (input.path !== undefined) throw file;
      // Who may not read a file is not told of it.
      const block = mount.source.files.at(path)?.block;
      if (block !== undefined && kernel.mayRead(invocation, block))
        leftOut.push({ path, block_id: block, why: file.message });
    }
    return { saved, ...(leftOut.length > 0 && { left_out: leftOut }) };
  },
});

type Place = Pick<FoundPlace, "mount" | "path">;

function ahead(mounts: Mounts): Place[] {
  return mounts
    .list()
    .flatMap((mount) =>
      mount.source.files.all().flatMap((file) => (file.ahead ? [{ mount, path: file.path }] : [])),
    );
}

/** The file, if the caller may do to it what saving it does; else why not. */
async function writable(
  { mount, path }: Place,
  caller: FileCaller,
): Promise<MountedFile | KumikoError> {
  const { source } = mount;
  const [change, append] = (["change", "append"] as const).map((operation) =>
    mount.refusal(path, operation, caller),
  );
  // Whoever may do neither is told nothing of what is there.
  if (change !== undefined && append !== undefined) return change;
  const file = source.files.at(path) ?? (await source.load(path));
  await source.refresh(file);
  const operation = await source.saving.operationOf(file);
  // One that was deleted is made again.
  if (operation === "create") return mount.refusal(path, operation, caller) ?? file;
  const refusal = operation === "append" ? change && append : change;
  return refusal ?? file;
}
