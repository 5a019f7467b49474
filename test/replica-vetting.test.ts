import { LoroDoc, type PeerID } from "loro-crdt";
import { describe, expect, test } from "vitest";
import { KumikoError } from "../src/base/index.ts";
import { type Shadow, Vetting, type VettingLimits } from "../src/doors/replica/vetting.ts";
import { hostileUpdates } from "./support/hostile-updates.ts";

const MEBIBYTE = 1024 * 1024;
const generous: VettingLimits = { time: 20_000, memory: 512 * MEBIBYTE, shadows: 16 };
const trap = hostileUpdates.find(({ traps }) => traps === true)!.bytes(undefined as never);

/** A document, and what a peer types into it. */
function author(
  text: string,
  peer: string,
): { snapshot: Uint8Array; readonly typed: (insert: string) => Uint8Array } {
  const doc = new LoroDoc();
  doc.setPeerId("1");
  doc.getText("text").insert(0, text);
  doc.commit();
  const snapshot = doc.export({ mode: "snapshot" });
  doc.setPeerId(peer as PeerID);
  return {
    snapshot,
    typed: (insert) => {
      const from = doc.version();
      doc.getText("text").insert(0, insert);
      doc.commit();
      return doc.export({ mode: "update", from });
    },
  };
}

async function refused(task: Promise<unknown>): Promise<KumikoError> {
  const outcome = await task.catch((error: unknown) => error);
  if (outcome instanceof KumikoError) return outcome;
  throw new Error(`was not refused: ${JSON.stringify(outcome)}`);
}

describe("vetting", () => {
  test("a trap costs its sender the update; everybody else's are looked at by the next worker", async () => {
    const lives: (string | undefined)[] = [];
    await using vetting = new Vetting({ limits: generous, started: (why) => lives.push(why) });
    const shadowOf = (peer: string): Shadow => {
      const { snapshot } = author("hello", peer);
      return vetting.shadow(() => Promise.resolve(snapshot));
    };
    const attacked = shadowOf("11");
    for (let round = 0; round < 3; round++) {
      const attack = refused(attacked.vet("11", 0, trap));
      const honest = ["12", "13"].map((peer) =>
        shadowOf(peer).vet(peer, 0, author("hello", peer).typed("x")),
      );
      expect((await attack).facts).toMatchObject({ trapped: true });
      for (const operations of await Promise.all(honest)) {
        expect(operations.changes[0]?.operations).toEqual([{ kind: "insert", at: 0, text: "x" }]);
      }
      expect(lives.length).toBe(round + 2);
    }
  });

  test("what takes too long is ended, and the next update finds a new worker", async () => {
    await using vetting = new Vetting({
      limits: { ...generous, time: 150 },
      started: () => undefined,
    });
    const slow = new LoroDoc();
    slow.setPeerId("11");
    const text = slow.getText("text");
    for (let i = 0; i < 90_000; i++) text.insert(i % 2 === 0 ? 0 : text.length, "b");
    slow.commit();
    const update = slow.export({ mode: "update" });
    const empty = new LoroDoc().export({ mode: "snapshot" });
    const shadow = vetting.shadow(() => Promise.resolve(empty));
    const outcome = await shadow.vet("11", 0, update).catch((error: unknown) => error);
    // Fast machines may be done in time.
    if (outcome instanceof KumikoError) expect(outcome.code).toBe("import_rejected");
    const { snapshot, typed } = author("hello", "12");
    const other = vetting.shadow(() => Promise.resolve(snapshot));
    expect(await other.vet("12", 0, typed("x"))).toMatchObject({ peer: "12", counter: 0 });
  });

  test("Loro has only so much memory there, and whoever needs more ends the worker", async () => {
    const lives: (string | undefined)[] = [];
    await using vetting = new Vetting({
      limits: { ...generous, memory: 24 * MEBIBYTE },
      started: (why) => lives.push(why),
    });
    const empty = new LoroDoc().export({ mode: "snapshot" });
    const shadow = vetting.shadow(() => Promise.resolve(empty));
    const large = new LoroDoc();
    large.setPeerId("11");
    large.getText("text").insert(0, "a".repeat(20_000_000));
    large.commit();
    const before = process.memoryUsage.rss();
    const error = await refused(shadow.vet("11", 0, large.export({ mode: "update" })));
    expect(error.facts).toMatchObject({ trapped: true });
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * MEBIBYTE);
    const { snapshot, typed } = author("hello", "12");
    const other = vetting.shadow(() => Promise.resolve(snapshot));
    expect(await other.vet("12", 0, typed("x"))).toMatchObject({ peer: "12", counter: 0 });
    expect(lives.length).toBe(2);
  });

  test("more documents than it may keep are closed and opened again", async () => {
    await using vetting = new Vetting({
      limits: { ...generous, shadows: 2 },
      started: () => undefined,
    });
    const opened: string[] = [];
    const people = ["11", "12", "13", "14"].map((peer) => {
      const { snapshot, typed } = author("hello", peer);
      const shadow = vetting.shadow(() => {
        opened.push(peer);
        return Promise.resolve(snapshot);
      });
      return { peer, typed, shadow };
    });
    for (const { peer, typed, shadow } of people) await shadow.vet(peer, 0, typed("x"));
    const [first] = people;
    // It was closed, and knows nothing of what was vetted: that was never on disk.
    const error = await refused(first!.shadow.vet("11", 1, first!.typed("y")));
    expect(error.code).toBe("import_rejected");
    expect(opened).toEqual(["11", "12", "13", "14", "11"]);
  });

  test("a worker that could not be started is started for the next update", async () => {
    let memory = 1;
    const limits = {
      ...generous,
      get memory() {
        return memory;
      },
    };
    await using vetting = new Vetting({ limits, started: () => undefined });
    const { snapshot, typed } = author("hello", "12");
    const shadow = vetting.shadow(() => Promise.resolve(snapshot));
    const update = typed("x");
    expect((await refused(shadow.vet("12", 0, update))).message).toMatch(/pages to begin with/);
    memory = generous.memory;
    expect(await shadow.vet("12", 0, update)).toMatchObject({ peer: "12", counter: 0 });
  });

  test("it can be ended while a worker cannot be started", async () => {
    const vetting = new Vetting({ limits: { ...generous, memory: 1 }, started: () => undefined });
    const { snapshot, typed } = author("hello", "12");
    const shadow = vetting.shadow(() => Promise.resolve(snapshot));
    const outcome = refused(shadow.vet("12", 0, typed("x")));
    await vetting[Symbol.asyncDispose]();
    expect((await outcome).code).toBe("import_rejected");
  });

  test("a document that cannot be read fails its own updates alone", async () => {
    await using vetting = new Vetting({ limits: generous, started: () => undefined });
    const gone = new KumikoError("quarantined", "It is damaged.");
    const broken = vetting.shadow(() => Promise.reject(gone));
    const { snapshot, typed } = author("hello", "12");
    const other = vetting.shadow(() => Promise.resolve(snapshot));
    const update = author("hello", "11").typed("x");
    const [error, operations] = await Promise.all([
      refused(broken.vet("11", 0, update)),
      other.vet("12", 0, typed("x")),
    ]);
    expect(error).toBe(gone);
    expect(operations.peer).toBe("12");
  });
});
