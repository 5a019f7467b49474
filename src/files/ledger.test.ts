import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { KumikoError } from "../base/index.ts";
import { Content } from "./content.ts";
import { type FileRecord, Ledger } from "./ledger.ts";
import { LedgerTail } from "./ledger-tail.ts";

test("records that cannot be written down are told of, and written later", async () => {
  const kept = new Map<string, string>();
  const waiting: (() => void)[] = [];
  const told: unknown[] = [];
  let failures = 1;
  const ledger = new Ledger(
    {
      get: async (key) => kept.get(key),
      list: async () => [...kept].map(([key, value]) => ({ key, value })),
      put: async (key, value) => {
        if (failures-- > 0) throw new Error("the journal is full");
        kept.set(key, value!);
      },
    },
    {
      timers: {
        after: (_, run) => {
          waiting.push(run);
          return { cancel: () => undefined };
        },
      },
      settle: () => Promise.resolve(),
      unsettled: () => undefined,
      onWritten: (error) => told.push(error),
      textAt: () => Promise.reject(new Error("no version is asked for")),
    },
  );
  const passes = async () => {
    waiting.shift()!();
    await new Promise((resolve) => setImmediate(resolve));
  };
  ledger.note("@src~file~1", { path: "a.txt", synced: undefined, left: { version: 3 } });
  await passes();
  expect(told).toEqual([new Error("the journal is full")]);
  expect(kept.size).toBe(0);
  await passes();
  expect(told).toHaveLength(2);
  expect(told[1]).toBeUndefined();
  expect((await ledger.read()).get("@src~file~1")).toMatchObject({ path: "a.txt" });
  expect(waiting).toEqual([]);
});

test("a record is written down when a power cut could not bring back the file before it", async () => {
  const kept: string[] = [];
  const settling: (() => void)[] = [];
  const ledger = new Ledger(
    {
      get: async () => undefined,
      list: async () => [],
      put: async (key) => void kept.push(key),
    },
    {
      timers: { after: () => ({ cancel: () => undefined }) },
      settle: () => new Promise((resolve) => settling.push(resolve)),
      unsettled: () => undefined,
      onWritten: () => undefined,
      textAt: () => Promise.reject(new Error("no version is asked for")),
    },
  );
  const record = { path: "a.txt", synced: undefined, left: { version: 3 } };
  ledger.note("@src~file~1", record);
  const written = ledger.write();
  await vi.waitFor(() => expect(settling).toHaveLength(1));
  // Saved meanwhile: for its folder nobody has waited.
  ledger.note("@src~file~2", record);
  expect(kept).toEqual([]);
  settling[0]!();
  await written;
  expect(kept).toEqual(["@src~file~1"]);
});

const FORM = { encoding: "utf-8", bom: false, crlf: false } as const;

function recordOf(path: string, version: number): FileRecord {
  const identity = { inode: 7, device: 1, size: 4, nanoseconds: -5n };
  const content = Content.of(Buffer.from(`${path} ${version}`));
  return { path, synced: { base: { version }, content, identity, form: FORM } };
}

/** Ledgers of one folder after each other, of processes that were killed but for what they had written down. */
function lives(tail: string): {
  readonly kept: Map<string, string>;
  readonly unsettled: string[];
  readonly begin: () => Promise<{ ledger: Ledger; records: Map<string, FileRecord> }>;
} {
  const kept = new Map<string, string>();
  const unsettled: string[] = [];
  const begin = async () => {
    const values = {
      get: async (key: string) => kept.get(key),
      list: async () => [...kept].map(([key, value]) => ({ key, value })),
      put: async (key: string, value: string | undefined) => void kept.set(key, value!),
    };
    const ledger = new Ledger(values, {
      timers: { after: () => ({ cancel: () => undefined }) },
      settle: () => Promise.resolve(),
      unsettled: (path) => unsettled.push(path),
      onWritten: () => undefined,
      textAt: async (block, version) => {
        if (block === "gone") throw new KumikoError("unknown_block", "There is none.", {});
        return `${block}.txt ${version}`;
      },
      tail: LedgerTail.of(tail)!,
    });
    return { ledger, records: await ledger.read() };
  };
  return { kept, unsettled, begin };
}

test.runIf(process.platform === "linux")(
  "what is noted of a file is known to the next process, without its bytes, and its folder is settled",
  async () => {
    using folder = temporaryFolder();
    const { kept, unsettled, begin } = lives(join(folder.path, "notes"));
    const { ledger } = await begin();
    ledger.note("a", recordOf("a.txt", 3));
    ledger.note("b", { path: "b.txt", synced: undefined, left: { text: "" }, mode: 0o755 });
    ledger.note("gone", recordOf("gone.txt", 1));
    const next = await begin();
    expect([...next.records.keys()]).toEqual(["a", "b"]);
    expect(next.records.get("a")).toMatchObject({
      path: "a.txt",
      synced: { base: { version: 3 }, form: FORM, identity: { inode: 7, nanoseconds: -5n } },
    });
    expect(next.records.get("b")).toMatchObject({ left: { text: "" }, mode: 0o755 });
    const { content } = next.records.get("a")!.synced!;
    expect(content.bytes).toBeUndefined();
    expect(content.hash).toBe(Content.of(Buffer.from("a.txt 3")).hash);
    expect(unsettled).toEqual(["a.txt"]);
    expect([...kept]).toEqual([]);
    await next.ledger.write();
    expect([...kept.keys()]).toEqual(["a", "b"]);
  },
);

test.runIf(process.platform === "linux")(
  "a note of which a part was lost is none, and keeps nobody from the others",
  async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "notes");
    const { begin } = lives(file);
    const { ledger } = await begin();
    for (const block of ["a", "b", "c", "d"]) ledger.note(block, recordOf(`${block}.txt`, 1));
    const [boot, a, b, c, d] = readFileSync(file, "utf8").split("\n");
    const torn = [`${a!.slice(0, 30)}${b}`, c!.replace('"version"', '"virgin"'), d];
    writeFileSync(file, `${[boot, ...torn].join("\n")}\n`);
    const { records } = await begin();
    expect([...records.keys()]).toEqual(["d"]);
  },
);

test.runIf(process.platform === "linux")(
  "notes that could not be taken away are not believed when something newer is written down",
  async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "notes");
    const { begin } = lives(file);
    const { ledger } = await begin();
    ledger.note("a", recordOf("a.txt", 1));
    const old = readFileSync(file, "utf8");
    ledger.note("a", recordOf("a.txt", 2));
    await ledger.write();
    writeFileSync(file, old);
    const next = await begin();
    expect(next.records.get("a")).toMatchObject({ synced: { base: { version: 2 } } });
    // The one after that counts on.
    next.ledger.note("a", recordOf("a.txt", 3));
    const { records } = await begin();
    expect(records.get("a")).toMatchObject({ synced: { base: { version: 3 } } });
  },
);
