import { describe, expect, test } from "vitest";
import { MemoryStore } from "../src/store/memory/memory-store.ts";
import { Workshop } from "./support/kernel-workshop.ts";

const denied = { kind: "deny" as const, names: ["block_blame"] };

describe("which tools a kernel offers", () => {
  test("is all of them until it is set, is kept, and everybody is told", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    const { kernel } = shop;
    expect(await kernel.toolFilter.get()).toEqual({ kind: "all" });
    const heard = kernel.flow.subscribe("config");
    await kernel.toolFilter.set(denied, "ann");
    expect(await kernel.toolFilter.get()).toEqual(denied);
    expect((await heard.next()).value).toMatchObject([
      { notice: { key: "tool-filter", value: denied, by: "ann" } },
    ]);
    await heard.return();
  });

  test("is only set by who may", async () => {
    await using shop = await Workshop.open(new MemoryStore(), {
      authorise: (actor) =>
        Promise.resolve({ decision: actor === "ann" ? "allow" : "deny", reason: "not yours" }),
    });
    const setting = shop.kernel.toolFilter.set(denied, "mallory");
    await expect(setting).rejects.toMatchObject({ code: "denied" });
    expect(await shop.kernel.toolFilter.get()).toEqual({ kind: "all" });
  });

  test("is seen within a second when another server sets it, and at once when this one does", async () => {
    const store = new MemoryStore();
    await using shop = await Workshop.open(store);
    expect(await shop.kernel.toolFilter.get()).toEqual({ kind: "all" });
    await store.put("settings", "tool-filter", JSON.stringify(denied));
    shop.time.pass(1000);
    expect(await shop.kernel.toolFilter.get()).toEqual(denied);
    await shop.kernel.toolFilter.set({ kind: "all" }, "ann");
    expect(await shop.kernel.toolFilter.get()).toEqual({ kind: "all" });
  });
});
