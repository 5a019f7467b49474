import { describe, expect, test } from "vitest";
import { Random } from "../src/base/index.ts";
import { ReplicaText } from "../src/blocks/index.ts";
import { scaled, seed } from "./support/counts.ts";
import {
  type Hostile,
  hostileUpdates,
  manyOperations,
  type Target,
} from "./support/hostile-updates.ts";
import { RawReplica } from "./support/raw-replica.ts";
import { ReplicaServer } from "./support/replica-server.ts";
import { resealed } from "./support/xxhash32.ts";

/** An attacker and a bystander, each with a block of their own. */
class Stage implements AsyncDisposable {
  readonly server: ReplicaServer;
  attacked: string;
  /** Those that were attacked before. */
  readonly left: string[] = [];
  readonly quiet: string;
  attacker: RawReplica;
  readonly bystander: RawReplica;
  target!: Target;
  typed = 0;

  private constructor(
    server: ReplicaServer,
    blocks: readonly [string, string],
    attacker: RawReplica,
    bystander: RawReplica,
  ) {
    this.server = server;
    [this.attacked, this.quiet] = blocks;
    this.attacker = attacker;
    this.bystander = bystander;
  }

  static async set(): Promise<Stage> {
    const server = await ReplicaServer.start({ limits: { traps: Infinity } });
    const blocks = [
      await server.block("attacked text\n"),
      await server.block("quiet text\n"),
    ] as const;
    const { token } = server.test.owner;
    const [attacker, bystander] = await Promise.all([
      RawReplica.connect(server.url, token),
      RawReplica.connect(server.url, token),
    ]);
    const stage = new Stage(server, blocks, attacker, bystander);
    await bystander.open(stage.quiet);
    await stage.reopen();
    return stage;
  }

  get workers(): number {
    return this.server.vettingWorkers;
  }

  /** Takes a new copy, and types something in it that is accepted. */
  async reopen(): Promise<void> {
    if (this.attacker.socket.readyState !== this.attacker.socket.OPEN) {
      this.attacker = await RawReplica.connect(this.server.url, this.server.test.owner.token);
    }
    await this.attacker.open(this.attacked);
    const accepted = this.attacker.typed(0, "ok");
    expect(await this.attacker.push(this.attacked, accepted)).toMatchObject({ kind: "accepted" });
    const { counter, grant, doc } = this.attacker;
    this.target = {
      snapshot: doc.export({ mode: "snapshot" }),
      peer: grant.peer,
      counter,
      others: [this.bystander.grant.peer],
      accepted,
    };
  }

  /** Goes on with another block: the history of one would make every round longer. */
  async move(): Promise<void> {
    this.left.push(this.attacked);
    this.attacked = await this.server.block("attacked text\n");
    await this.reopen();
  }

  /** What somebody else types meanwhile is accepted, whatever happens. */
  async bystand(): Promise<void> {
    const pushed = await this.bystander.push(this.quiet, this.bystander.typed(0, "."));
    expect(pushed).toMatchObject({ kind: "accepted" });
    this.typed++;
  }

  /** The journal gives the same texts as the server shows. */
  async expectWhole(): Promise<void> {
    const { server } = this;
    expect(await server.text(this.quiet)).toBe(`${".".repeat(this.typed)}quiet text\n`);
    const texts = new Map<string, string>();
    for (const block of [...this.left, this.attacked, this.quiet]) {
      texts.set(block, await server.text(block));
    }
    const { world } = server.test.hall;
    await world.close("main");
    const again = await world.open("main");
    for (const [block, text] of texts) {
      expect((await again.read(block)).text).toBe(text);
      const nobody = { frame: () => undefined, ended: () => undefined };
      using opened = await again.replicas.open(block, nobody);
      using copy = new ReplicaText(opened.bytes, "77");
      expect(copy.toString()).toBe(text);
      expect(await again.look(block, ({ document }) => document.read())).toBe(text);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.attacker[Symbol.dispose]();
    this.bystander[Symbol.dispose]();
    await this.server[Symbol.asyncDispose]();
  }
}

describe("hostile updates", () => {
  test(`${hostileUpdates.length} crafted ones are refused, hurt nobody, and their sender recovers`, async () => {
    await using stage = await Stage.set();
    const outcomes: Record<string, number> = {};
    for (const hostile of hostileUpdates) {
      const before = await stage.server.text(stage.attacked);
      const workers = stage.workers;
      const [outcome] = await Promise.all([attack(stage, hostile), stage.bystand()]);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      if (outcome !== "accepted")
        expect(await stage.server.text(stage.attacked), hostile.name).toBe(before);
      else expect(hostile.harmless, `${hostile.name} was accepted`).toBe(true);
      if (hostile.traps === true) expect(outcome, hostile.name).toBe("trapped");
      await stage.reopen();
      expect(stage.workers - workers, hostile.name).toBe(outcome === "trapped" ? 1 : 0);
    }
    await stage.expectWhole();
  }, 120_000);

  test("mutated ones hurt nobody, and whoever sent them recovers", async () => {
    await using stage = await Stage.set();
    const random = new Random(seed());
    const outcomes: Record<string, number> = {};
    for (let i = 0; i < scaled(10_000); i++) {
      if (i % 250 === 249) await stage.move();
      const { workers } = stage;
      const hostile: Hostile = {
        name: "mutated",
        bytes: (target) => mutated(stage.attacker, target, random),
      };
      const [outcome] = await Promise.all([
        attack(stage, hostile),
        i % 20 === 0 ? stage.bystand() : undefined,
      ]);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      if (outcome !== "accepted") await stage.reopen();
      else await stage.attacker.open(stage.attacked);
      expect(stage.workers - workers).toBe(outcome === "trapped" ? 1 : 0);
    }
    expect(outcomes["trapped"]).toBeGreaterThan(0);
    await stage.expectWhole();
  }, 600_000);
});

async function attack(stage: Stage, hostile: Hostile): Promise<string> {
  const { attacker, attacked, target } = stage;
  const result = await attacker.push(attacked, hostile.bytes(target), {
    counter: hostile.counter?.(target),
  });
  if (result.kind === "accepted") return "accepted";
  if (result.kind === "closed") return "ended";
  expect(["import_rejected", "too_large", "ill_formed_text", "frame_malformed"]).toContain(
    result.code,
  );
  return result.facts["trapped"] === true ? "trapped" : "refused";
}

function mutated(attacker: RawReplica, target: Target, random: Random): Uint8Array {
  const { length } = attacker.doc.getText("text");
  const update =
    random.below(2) === 0
      ? manyOperations(target)
      : attacker.typed(random.below(length), random.pick(["a", "word", "é", "line\nline\n"]));
  let bytes = update.slice();
  for (let changes = 1 + random.below(4); changes > 0; changes--) {
    const at = 22 + random.below(bytes.length - 22);
    const kind = random.below(5);
    if (kind === 0) bytes[at] = random.below(256);
    else if (kind === 1) bytes[at]! ^= 1 << random.below(8);
    else if (kind === 2) bytes = Uint8Array.from([...bytes.slice(0, at), ...bytes.slice(at + 1)]);
    else if (kind === 3)
      bytes = Uint8Array.from([...bytes.slice(0, at), random.below(256), ...bytes.slice(at)]);
    else bytes.set([0xff, 0xff, 0xff, 0xff, 0x0f].slice(0, bytes.length - at), at);
  }
  return random.below(10) < 8 ? resealed(bytes) : bytes;
}
