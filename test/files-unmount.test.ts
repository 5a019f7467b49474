import { expect, test } from "vitest";
import { KumikoError } from "../src/base/index.ts";
import { Mounted } from "./support/mounted.ts";

test("a call that waits for a file to come to rest ends well when its folder is unmounted", async () => {
  await using mounted = await Mounted.with({ "a.txt": "one\n" });
  expect(await mounted.text("a.txt")).toBe("one\n");
  for (const path of ["a.txt", "new.txt"]) {
    mounted.write(path, "two\n");
    // Just written, so it is not believed yet.
    const call = mounted.text(path).catch((error: unknown) => error);
    await Promise.resolve();
    const { root } = mounted.mounts.named("project");
    await mounted.mounts.unmount("project");
    const ended = await call;
    if (ended instanceof KumikoError) expect(ended.message).toMatch(/mount/);
    else expect(ended).toBe("two\n");
    await mounted.mounts.mount("project", { root });
    expect(await mounted.text(path)).toBe("two\n");
  }
});
