import { writeFileSync } from "node:fs";
import { setTimeout as passing } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { KumikoError, Random } from "../src/base/index.ts";
import { scaled, seed } from "./support/counts.ts";
import {
  type Act,
  actors,
  canary,
  expected,
  GateHouse,
  type GateRule,
  gateRules,
  type Kind,
  kinds,
  textOf,
} from "./support/gate-house.ts";
import { temporaryHome } from "./support/kumiko.ts";
import type { RpcAnswer } from "./support/mcp.ts";
import { ADDED, editTools, type PathTool, pathTools, prepare } from "./support/path-tools.ts";
import { letterOf, outcome } from "./support/verdict.ts";

const LONG = 15 * 60_000;

interface Attempt {
  readonly house: GateHouse;
  readonly kind: Kind;
  readonly path: string;
  /** Of the file, where the way needs one. */
  readonly block: string;
  /** A place of this attempt's own where everything is allowed. */
  readonly other: string;
  /** The Edit that was prepared. */
  readonly edit: string;
}

/** One way in which a file's text may leave or be changed. */
interface Way extends Pick<PathTool, "prepared" | "leaves" | "moves"> {
  readonly name: string;
  readonly act: Act;
  /** By default everybody. */
  readonly kinds?: readonly Kind[];
  /** In whose name, where it is another's than the token's. */
  readonly actor?: string;
  /** Whoever speaks MCP is held to the rules as an agent. */
  readonly agents?: true;
  /** Whether it knows the block, which is loaded then. */
  readonly byBlock?: true;
  run(attempt: Attempt): Promise<unknown>;
  /** It is opened first, and refused then by who may not read. */
  readonly opens?: boolean;
  /** Whether its answer has all of the text in it. */
  readonly shows?: boolean;
}

const SHOWING: readonly string[] = ["block_read", "block_sync"];

const toolWays = [...pathTools, ...editTools].flatMap(
  ({ tool, operation: act, input, ...rest }, at): Way[] => {
    const name = `${tool} ${at}`;
    const way = { ...rest, act, shows: SHOWING.includes(tool) };
    return [
      {
        ...way,
        name: `rpc ${name}`,
        run: ({ house, kind, path, ...around }) =>
          house.client(kind).executeTool({ name: tool, arguments: input(path, around) as never }),
      },
      {
        ...way,
        name: `mcp ${name}`,
        agents: true,
        run: async ({ house, kind, path, ...around }) => {
          const call = { name: tool, arguments: input(path, around) };
          return mcpOutcome(await house.mcp(kind, "tools/call", call));
        },
      },
    ];
  },
);

const typed = (text: string): string => `${ADDED}${text}`;

const textWays: readonly Way[] = [
  {
    name: "rpc getDocumentState",
    act: "read",
    shows: true,
    run: ({ house, kind, block }) => house.client(kind).getDocumentState({ block_id: block }),
  },
  {
    name: "rpc getDocumentState at a position",
    act: "read",
    shows: true,
    run: ({ house, kind, block }) =>
      house.client(kind).getDocumentState({ block_id: block, position: house.kernel.feed.head }),
  },
  {
    name: "rpc history",
    act: "read",
    run: ({ house, kind, block }) => house.client(kind).history({ block_id: block }),
  },
  {
    name: "rpc pushOps",
    act: "change",
    leaves: typed,
    run: ({ house, kind, block }) =>
      house.client(kind).pushOps({
        block_id: block,
        base_version: 1,
        splices: [{ at: 0, remove: 0, insert: ADDED }],
      }),
  },
  {
    name: "rpc purge",
    act: "delete",
    leaves: (text) => text.replaceAll(/[^\n]/g, "█"),
    run: ({ house, kind, block }) => house.client(kind).purge({ block_id: block }),
  },
  {
    name: "replica",
    act: "read",
    shows: true,
    run: async ({ house, kind, block }) => {
      const replica = house.client(kind).replica(block);
      await replica.ready();
      return replica.text;
    },
  },
  {
    name: "replica edit",
    act: "change",
    leaves: typed,
    opens: true,
    run: async ({ house, kind, block }) => {
      const replica = house.client(kind).replica(block);
      await replica.ready();
      const refused = Promise.withResolvers<KumikoError>();
      replica.onRefused(({ error }) => refused.resolve(error));
      replica.edit([{ at: 0, remove: 0, insert: ADDED }]);
      return Promise.race([refused.promise, replica.saved().catch((error: unknown) => error)]);
    },
  },
  {
    name: "mcp resource",
    act: "read",
    shows: true,
    agents: true,
    run: async ({ house, kind, block }) =>
      mcpOutcome(
        await house.mcp(kind, "resources/read", { uri: `kumiko://${house.id}/blocks/${block}` }),
      ),
  },
];
const blockWays = textWays.map((way): Way => ({ ...way, byBlock: true }));

/** Who has the owner's home is its owner. */
const OWNER = "ann";

const command = (
  act: Act,
  args: (path: string, other: string) => readonly string[],
  rest: Partial<Way> = {},
): Way => ({
  name: `kumiko ${args("", "").join(" ")}`,
  act,
  kinds: ["person"],
  actor: OWNER,
  run: ({ house, path, other }) => commanded(house, args(path, other)),
  ...rest,
});

/** What the command answers to its owner, whose editor is a program. */
async function commanded(house: GateHouse, args: readonly string[]): Promise<unknown> {
  using home = temporaryHome();
  const environment = { KUMIKO_HOME: house.place, EDITOR: "sed -i s/one/ONE/" };
  const answer = await home.json(args, { folder: house.folder, environment });
  const { error } = answer as { error?: KumikoError };
  return error === undefined ? answer : new KumikoError(error.code, error.message, error.facts);
}

const firstLarge = (text: string): string => text.replace("one", "ONE");
const gone = (): undefined => undefined;

const commandWays: readonly Way[] = [
  command("read", (path) => ["cat", path], { shows: true }),
  command("read", (path) => ["history", path]),
  command("read", (path) => ["blame", path]),
  command("read", (path) => ["diff", path]),
  command("append", (path) => ["block", "append", path, "--text", "four\n", "--flush"], {
    leaves: (text) => `${text}four\n`,
  }),
  command("create", (path) => ["file", "create", path, "--content", "four"], {
    leaves: () => "four",
  }),
  command("change", (path) => ["block", "replace", path, "--old", "one", "--new", "ONE"], {
    leaves: firstLarge,
  }),
  command("change", (path) => ["edit", path], { leaves: firstLarge }),
  command("change", (path) => ["undo", path], { prepared: "edited" }),
  command("change", (path) => ["redo", path], { prepared: "undone", leaves: typed }),
  command("change", (path) => ["rollback", path, "--version", "1"], { prepared: "edited" }),
  command("change", (path) => ["file", "save", path], { prepared: "edited", leaves: typed }),
  command("change", (path) => ["file", "reload", path], { prepared: "edited" }),
  command("change", (path) => ["file", "merge", path, "--text", "ONE\n", "--base-version", "1"], {
    leaves: () => "ONE\n",
  }),
  command("delete", (path) => ["file", "delete", path], { leaves: gone }),
  command("move", (path, other) => ["file", "move", path, "--to", other], {
    moves: "away",
    leaves: gone,
  }),
  command("create", (path, other) => ["file", "move", other, "--to", path], { moves: "here" }),
];

/** What it gave: an answer, or what it refused, whatever form the door gives refusals. */
function mcpOutcome({ result, error }: RpcAnswer): unknown {
  const { _meta: meta, isError } = (result ?? {}) as {
    _meta?: { "kumiko/error"?: KumikoError };
    isError?: boolean;
  };
  const refused = meta?.["kumiko/error"];
  const told = refused ?? (error?.data as { kumiko?: KumikoError } | undefined)?.kumiko;
  if (told !== undefined) return new KumikoError(told.code, told.message, told.facts);
  if (error !== undefined || isError === true) throw new Error(JSON.stringify({ result, error }));
  return result;
}

const chance = new Random(seed());

/** Those where nothing is escalated, and of the others as many as are tried. */
function triedRules(): readonly GateRule[] {
  const rest = gateRules.filter(({ escalate }) => escalate.length > 0);
  const tried = scaled(rest.length);
  while (rest.length > tried) rest.splice(chance.below(rest.length), 1);
  return [...gateRules.filter(({ escalate }) => escalate.length === 0), ...rest];
}

describe("every level and escalation, by every door, for everybody", () => {
  const ways = [...toolWays, ...blockWays, ...commandWays];
  const attempts = ways.flatMap((way, number) =>
    triedRules().flatMap((rule) =>
      (way.kinds ?? kinds).map((kind) => ({
        way,
        rule,
        kind,
        path: `${rule.folder}/${number}-${kind}.txt`,
        other: `admin/${number}-${rule.folder}-${kind}.txt`,
      })),
    ),
  );

  it(
    "is decided as the table says, and what is refused shows and changes nothing",
    { timeout: LONG },
    async () => {
      const made = attempts.filter(({ way }) => way.act !== "create").map(({ path }) => path);
      const sources = attempts.filter(({ way }) => way.moves === "here").map(({ other }) => other);
      await using house = await GateHouse.open([...made, ...sources]);
      const soon: (() => Promise<void>)[] = [];
      for (const { way, rule, kind, path, other } of attempts) {
        const { prepared } = way;
        const known = way.byBlock === true || prepared !== undefined;
        const block = known ? await house.block(path) : "";
        const actor = way.actor ?? actors[kind];
        const edit =
          prepared === undefined ? "" : await prepare(house.kernel, { block, actor, prepared });
        const before = block === "" ? "" : (await house.kernel.read(block)).text;
        const result = await outcome(way.run({ house, kind, path, block, other, edit }));
        const held = way.agents === true && kind === "person" ? "agent" : kind;
        const shown = expected(rule, "read", held);
        const wanted = way.opens === true && shown !== "y" ? shown : expected(rule, way.act, held);
        const what = [way.name, kind, rule.level, rule.escalate, String(result)];
        expect([...what, letterOf(result)]).toEqual([...what, wanted]);
        // Whoever may not read is shown nothing, whatever else they may.
        const told = `${JSON.stringify(result)} ${String(result)}`;
        const hides = wanted !== "y" || shown !== "y";
        if (hides || way.shows === true)
          expect([...what, told.includes(canary(path))]).toEqual([...what, !hides]);
        if (wanted === "y") {
          const done = (): Promise<void> => expectDone(house, way, { path, other, what });
          // What is typed into a copy, or appended, is saved soon; everything else before its answer.
          if (SOON.some((each) => way.name.includes(each))) soon.push(done);
          else await done();
          continue;
        }
        const untouched = way.act === "create" ? undefined : textOf(path);
        expect([...what, house.found(path)]).toEqual([...what, untouched]);
        if (way.moves !== undefined) {
          const there = way.moves === "here" ? textOf(other) : undefined;
          expect([...what, house.found(other)]).toEqual([...what, there]);
        }
        if (block !== "")
          expect([...what, (await house.kernel.read(block)).text]).toEqual([...what, before]);
      }
      const end = Date.now() + 20_000;
      for (const done of soon) while (!(await holds(done, end))) await passing(5);
      expect(attempts.length).toBeGreaterThan(2_000);
    },
  );
});

const SOON: readonly string[] = ["append", "pushOps", "replica edit"];

/** Whether it holds by now; from some time on what does not is a failure. */
async function holds(check: () => Promise<void>, end: number): Promise<boolean> {
  try {
    await check();
    return true;
  } catch (error) {
    if (Date.now() > end) throw error;
    return false;
  }
}

/** What was allowed has happened: to the file, to its block, and where it went or came from. */
async function expectDone(
  house: GateHouse,
  way: Way,
  { path, other, what }: { path: string; other: string; what: readonly unknown[] },
): Promise<void> {
  const { moves, leaves = (text: string) => text } = way;
  const wanted = leaves(moves === "here" ? textOf(other) : textOf(path));
  expect([...what, house.found(path)]).toEqual([...what, wanted]);
  if (moves !== undefined) {
    const there = moves === "away" ? textOf(path) : undefined;
    expect([...what, house.found(other)]).toEqual([...what, there]);
  }
  const file = house.mounts.first().source.files.at(path);
  if (wanted === undefined || file === undefined) return;
  const { text, state } = await house.kernel.read(file.block);
  expect([...what, text]).toEqual([...what, wanted]);
  if (way.name.includes("block_status"))
    expect([...what, state.flags]).toEqual([...what, { pinned: true }]);
}

/** Ways that give what is in many files at once. */
const wideWays: { readonly [name: string]: (house: GateHouse, kind: Kind) => Promise<unknown> } = {
  "rpc feed": (house, kind) => followed(house, kind, { from: 0 }),
  "rpc feed of other topics too": (house, kind) =>
    followed(house, kind, { from: 0, topics: ["resource"] }),
  "rpc exportPage": (house, kind) =>
    house.client(kind).exportPage({ context: `@${house.id}`, limit: 1000 }),
  "rpc block_sync": (house, kind) =>
    house
      .client(kind)
      .executeTool({ name: "block_sync", arguments: { position: 0, limit: 10_000 } }),
  "mcp block_sync": (house, kind) =>
    house.mcp(kind, "tools/call", {
      name: "block_sync",
      arguments: { position: 0, limit: 10_000 },
    }),
};

/** Everything a client is told of up to where the feed is now. */
async function followed(
  house: GateHouse,
  kind: Kind,
  options: { from: number; topics?: ["resource"] },
): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const told: unknown[] = [];
  const { head } = house.kernel.feed;
  await using feed = house.client(kind).feed((news) => {
    told.push(news);
    if ("position" in news && news.position >= head) resolve(told);
  }, options);
  feed.ended.then(() => resolve(told), reject);
  return await promise;
}

const canariesIn = (answer: unknown): string[] =>
  [...new Set(JSON.stringify(answer)?.match(/canary-[^"\\]*?-end/g))].toSorted();

describe("what gives many files at once", () => {
  it(
    "leaves out those that the caller may not read, and no others",
    { timeout: LONG },
    async () => {
      // The last one may be read by all, so that everybody is told of the end.
      const files = [...gateRules.map(({ folder }) => `${folder}/wide.txt`), "admin/wide.txt"];
      await using house = await GateHouse.open(files);
      for (const path of files) await house.block(path);
      const readable = (kind: Kind, also: (rule: GateRule) => boolean = () => true): string[] =>
        [
          ...gateRules.filter((rule) => expected(rule, "read", kind) === "y" && also(rule)),
          { folder: "admin" },
        ]
          .map(({ folder }) => canary(`${folder}/wide.txt`))
          .toSorted();
      for (const kind of kinds) {
        for (const [name, run] of Object.entries(wideWays)) {
          const held = name.startsWith("mcp") && kind === "person" ? "agent" : kind;
          expect([name, kind, canariesIn(await run(house, kind))]).toEqual([
            name,
            kind,
            readable(held),
          ]);
        }
        // Secrets are kept from searches, whoever asks.
        const searched = (input: object) =>
          house.client(kind).search({ query: "canary-", literal: true, ...input });
        expect([kind, canariesIn(await searched({ max_blocks: 1_000 }))]).toEqual([
          kind,
          readable(kind, ({ level }) => level !== "secret"),
        ]);
        // Nor can be told from what is left out that there is something.
        const { blocks, truncated } = (await searched({ max_blocks: 1 })) as {
          blocks: unknown[];
          truncated: boolean;
        };
        expect([kind, blocks.length, truncated]).toEqual([kind, 1, true]);
        // Alone as well as among others.
        const escalated = canary("read-write-1/wide.txt");
        expect([kind, canariesIn(await searched({ query: escalated }))]).toEqual([
          kind,
          readable(kind).filter((each) => each === escalated),
        ]);
        const secret = canary("secret-0/wide.txt");
        expect(await searched({ query: secret, max_blocks: 1 })).toMatchObject({
          blocks: [],
          truncated: false,
        });
        const everything = [
          await outcome(house.client(kind).executeTool({ name: "file_list", arguments: {} })),
          await outcome(house.client(kind).executeTool({ name: "file_status", arguments: {} })),
          await outcome(house.client(kind).usage()),
          await outcome(house.client(kind).authors()),
          await outcome(house.client(kind).verify()),
          await house.mcp(kind, "resources/list", {}),
          await (await fetch(`${house.url}/`)).text(),
          await (
            await fetch(`${house.url}/status`, {
              headers: { authorization: `Bearer ${house.token(kind)}` },
            })
          ).text(),
        ];
        expect([kind, canariesIn(everything)]).toEqual([kind, []]);
        // Who is told where a text stands can guess it.
        const preview = await outcome(house.client(kind).previewPurge({ text: secret }));
        expect([kind, letterOf(preview)]).toEqual([kind, kind === "person" ? "y" : "h"]);
      }
    },
  );
});

describe("conflicts", () => {
  it(
    "are told to and resolved by those who may read and change the file",
    { timeout: LONG },
    async () => {
      const doors = { rpc: kinds, mcp: kinds, command: ["person"] } as const;
      const cases = triedRules().flatMap((rule) =>
        (["rpc", "mcp", "command"] as const).flatMap((door) =>
          doors[door].map((kind) => {
            const path = `${rule.folder}/${door}-${kind}.txt`;
            return { rule, door, kind, path };
          }),
        ),
      );
      await using house = await GateHouse.open(cases.map(({ path }) => path));
      for (const { path } of cases) await conflictIn(house, path);
      const all = house.mounts.conflicts.list();
      expect(all.map(({ path }) => path)).toEqual(cases.map(({ path }) => path));
      // All of them are claude's, who has not been told: of those that may not be read, and of those in which its
      // lines stand, nothing is said.
      const told = await house
        .client("agent")
        .executeTool({ name: "file_list", arguments: { limit: 1 } });
      const readable = cases.filter(
        ({ rule }) => expected(rule, "read", "agent") === "y" && rule.level !== "admin",
      );
      const named = (told as { conflicts: { path: string }[] }).conflicts.map(({ path }) => path);
      expect(named).toEqual(readable.map(({ path }) => path));
      expect(canariesIn(told)).toEqual(readable.map(({ path }) => canary(path)).toSorted());
      for (const [at, { rule, door, kind, path }] of cases.entries()) {
        const { conflict } = all[at]!;
        const before = house.read(path);
        const call = { name: "file_resolve", arguments: { conflict, choice: "memory" } };
        const ways = {
          rpc: () => house.client(kind).executeTool(call),
          mcp: async () => mcpOutcome(await house.mcp(kind, "tools/call", call)),
          command: () => commanded(house, ["resolve", conflict, "memory"]),
        };
        const result = await outcome(ways[door]());
        const held = door === "mcp" && kind === "person" ? "agent" : kind;
        const what = [door, kind, rule.level, rule.escalate, String(result)];
        const wanted = expected(rule, "resolve", held);
        expect([...what, letterOf(result)]).toEqual([...what, wanted]);
        if (wanted !== "y") expect([...what, canariesIn(String(result))]).toEqual([...what, []]);
        const open = house.mounts.conflicts.list().some((each) => each.path === path);
        expect([...what, open]).toEqual([...what, wanted !== "y"]);
        const stands = wanted === "y" ? textOf(path).replace("canary-", "mine canary-") : before;
        expect([...what, house.read(path)]).toEqual([...what, stands]);
      }
    },
  );
});

/** Both sides change the last line: the block for claude, the file for somebody. */
async function conflictIn(house: GateHouse, path: string): Promise<void> {
  const { source } = house.mounts.first();
  const file = await source.load(path);
  const last = textOf(path).indexOf("canary-");
  await house.kernel.editFiles(
    { actor: "claude", kind: "system" },
    {
      blocks: [file.block],
      operation: "change",
      translate: () => [{ at: last, remove: 0, insert: "mine " }],
      answer: () => undefined,
    },
  );
  writeFileSync(house.path(path), textOf(path).replace("canary-", "theirs canary-"));
  await source.takingIn.asOwn({ actor: "disk", kind: "disk" }, file);
}

describe("a conversation that agents may not read", () => {
  it("is shown to people only, by every door", { timeout: LONG }, async () => {
    const rules = '[[conversation]]\ncontext = "hidden"\nlevel = "secret"\n';
    await using house = await GateHouse.open([], rules);
    const text = canary("said");
    await house.kernel.contexts.create("hidden", "ann");
    const post = { role: "user", kind: "text", content: text, context: "hidden" };
    const posted = await house
      .client("person")
      .executeTool({ name: "block_create", arguments: post });
    const { block_id } = posted as { block_id: string };
    await house.kernel.contexts.create("open", "ann");
    const sayOpenly = { ...post, content: "open", context: "open" };
    const tool = (kind: Kind, name: string, input: object) =>
      house.client(kind).executeTool({ name, arguments: input as never });
    const ways: { readonly [name: string]: (kind: Kind) => Promise<unknown> } = {
      block_read: (kind) => tool(kind, "block_read", { block_id }),
      block_search: (kind) => tool(kind, "block_search", { block_id, query: "canary" }),
      block_blame: (kind) => tool(kind, "block_blame", { block_id, lines: true }),
      block_diff: (kind) => tool(kind, "block_diff", { block_id, from: 0 }),
      "block_sync of it": (kind) =>
        tool(kind, "block_sync", { versions: [{ block_id, version: 0 }] }),
      "block_sync of all": (kind) => tool(kind, "block_sync", { position: 0 }),
      block_list: (kind) => tool(kind, "block_list", { context: "hidden" }),
      kernel_search: (kind) => tool(kind, "kernel_search", { query: "canary", kinds: ["text"] }),
      feed: async (kind) => {
        // So that everybody hears of the end.
        await tool("person", "block_create", sayOpenly);
        return followed(house, kind, { from: 0 });
      },
      getDocumentState: (kind) => house.client(kind).getDocumentState({ block_id }),
      exportPage: (kind) => house.client(kind).exportPage({ context: "hidden" }),
      show: (kind) => house.client(kind).context({ context: "hidden" }).show(),
      replica: async (kind) => {
        const replica = house.client(kind).replica(block_id);
        await replica.ready();
        return replica.text;
      },
    };
    const resources = [`blocks/${block_id}`, "contexts/hidden"];
    for (const kind of kinds) {
      for (const [name, run] of Object.entries(ways)) {
        const told = canariesIn(await outcome(run(kind)));
        const wanted = kind === "person" && !WITHOUT_TEXT.includes(name) ? [text] : [];
        expect([name, kind, told]).toEqual([name, kind, wanted]);
      }
      for (const each of resources) {
        const read = await house.mcp(kind, "resources/read", {
          uri: `kumiko://${house.id}/${each}`,
        });
        expect([each, kind, canariesIn(read)]).toEqual([each, kind, []]);
      }
    }
    expect(await tool("agent", "block_list", { context: "hidden" })).toMatchObject({
      blocks: [{ block_id, summary: "", denied: expect.stringContaining("needs a yes") }],
    });
  });
});

/** These tell who and where, not what. */
const WITHOUT_TEXT: readonly string[] = ["block_blame"];

describe("rules that change", () => {
  it("hold at once for who is following", { timeout: LONG }, async () => {
    const path = "later/a.txt";
    await using house = await GateHouse.open([path]);
    const block = await house.block(path);
    const agent = house.client("agent");
    const heard: unknown[] = [];
    await using feed = agent.feed((news) => void heard.push(news), { from: 0 });
    feed.ended.catch((error: unknown) => heard.push(error));
    const replica = agent.replica(block);
    await replica.ready();
    expect(replica.text).toContain(canary(path));
    const refused = Promise.withResolvers<string | undefined>();
    replica.onState((state) => state === "refused" && refused.resolve(replica.error?.code));
    replica.onChange(() => refused.resolve("shown"));
    const shut = '[[rule]]\npath = "later/**"\nlevel = "admin"\nescalate = ["read"]\n';
    house.write("kumiko.toml", shut);
    house.mounts.first().readRules();
    const fresh = canary("fresh");
    await house.client("person").pushOps({
      block_id: block,
      base_version: 1,
      splices: [{ at: 0, remove: 0, insert: `${fresh}\n` }],
    });
    expect(await refused.promise).toBe("denied");
    expect(() => replica.text).toThrow("may not read");
    expect(canariesIn(heard)).not.toContain(fresh);
    // Nor by moving it to where other rules hold.
    const move = { path, to: "admin/a.txt" };
    const moved = await outcome(agent.executeTool({ name: "file_move", arguments: move }));
    expect(letterOf(moved)).toBe("h");
    expect(house.read(path)).toContain(fresh);
  });
});
