import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { type RunningServer, startServer } from "../src/app/server.ts";
import { agents } from "../src/cli/doors/agents.ts";
import { hookEvents } from "../src/cli/doors/hook-payload.ts";
import { opencodePlugin } from "../src/cli/doors/opencode-plugin.ts";
import { Mounts } from "../src/files/index.ts";
import { command, type Home, temporaryHome } from "./support/kumiko.ts";
import { runProgram } from "./support/process.ts";

const SESSION = "1f4c7f8e-2f0b-4f5e-9f63-6a2f9d0c11aa";
const CALL = "toolu_01VzRkQbXn3Y4sZ8wG7mHc2P";

interface Said {
  readonly tool?: string;
  /** What it puts in place of what. */
  readonly edit?: readonly [old: string, by: string];
  readonly call?: string;
  readonly more?: { readonly [name: string]: unknown };
}

/** What Claude Code hands to its hooks, in the shape that Claude Code documents. */
function payload(event: string, path: string, folder: string, said: Said = {}): string {
  const {
    tool = "Edit",
    call = CALL,
    edit: [old_string, new_string] = ["two", "TWO"],
    more,
  } = said;
  const edit = { file_path: path, old_string, new_string, replace_all: false };
  return JSON.stringify({
    session_id: SESSION,
    transcript_path: join(folder, ".claude", "projects", `${SESSION}.jsonl`),
    cwd: folder,
    permission_mode: "acceptEdits",
    hook_event_name: event,
    tool_name: tool,
    tool_input: tool === "Write" ? { file_path: path, content: "one\nTWO\n" } : edit,
    ...(event === "PostToolUse" && {
      tool_response: { filePath: path, oldString: "two", newString: "TWO", userModified: false },
    }),
    tool_use_id: call,
    ...more,
  });
}

interface Version {
  readonly version: number;
  readonly actor: string;
  readonly tool?: string;
  readonly call?: string;
  readonly turn?: string;
}

/** A folder with a file, and the server that has it, as `kumiko serve` starts it. */
class Project implements AsyncDisposable {
  readonly home: Home;
  readonly folder: string;
  readonly #server: RunningServer;

  private constructor(home: Home, folder: string, server: RunningServer) {
    this.home = home;
    this.folder = folder;
    this.#server = server;
  }

  static async open(): Promise<Project> {
    const home = temporaryHome();
    const folder = join(home.folder.path, "project");
    mkdirSync(folder);
    writeFileSync(join(folder, "a.txt"), "one\ntwo\nthree\n");
    const server = await startServer({ home: home.environment["KUMIKO_HOME"]!, folder });
    return new Project(home, folder, server);
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /** Runs the hook as the agent does; it is never heard of. */
  async hook(event: string, path: string, said?: Said): Promise<void> {
    const input = payload(event, path, this.folder, said);
    // The person's name is not the agent's.
    const setting = { folder: this.folder, environment: { KUMIKO_ACTOR: "ann" }, input };
    expect(await this.home.run(["hook", "claude-code"], setting)).toEqual(silence);
  }

  /** Loads the file, and gives what its block is called. */
  async load(path: string): Promise<string> {
    const answer = await this.home.json(["file", "load", this.path(path)], { folder: this.folder });
    return String(answer["block_id"]);
  }

  async mount(name: string, root: string): Promise<void> {
    const kernel = await this.#server.hall.world.open(this.#server.kernel!);
    await Mounts.of(kernel).mount(name, { root });
  }

  /** Until something took the change in, without asking for it. */
  async taken(block: string, version: number): Promise<void> {
    const kernel = await this.#server.hall.world.open(this.#server.kernel!);
    const look = async () => expect(await kernel.version(block)).toBe(version);
    await vi.waitFor(look, { timeout: 10_000, interval: 20 });
  }

  /** The newest version first. */
  async history(block: string): Promise<Version[]> {
    const answer = await this.home.json(["history", block], { folder: this.folder });
    return answer["versions"] as Version[];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
    this.home[Symbol.dispose]();
  }
}

const silence = { code: 0, out: "", err: "" };
const theAgent = { actor: "claude-code", turn: SESSION, call: CALL };

describe("kumiko hook claude-code", () => {
  test("blames what was written between its two calls on the agent, its session and its call", async () => {
    await using project = await Project.open();
    const file = project.path("a.txt");
    await project.hook("PreToolUse", file);
    writeFileSync(file, "one\nTWO\nthree\n");
    await project.hook("PostToolUse", file);
    const block = await project.load("a.txt");
    const [newest, oldest] = await project.history(block);
    expect(newest).toMatchObject({ ...theAgent, version: 2, tool: "Edit" });
    expect(oldest).toMatchObject({ version: 1, actor: "disk" });
    const blamed = await project.home.run(["blame", block], { folder: project.folder });
    expect(blamed.out).toMatch(/claude-code.*TWO/);
    expect(blamed.out).toMatch(/disk.*three/);
  });

  test("and also when the change was seen before the second call", async () => {
    await using project = await Project.open();
    const file = project.path("a.txt");
    const block = await project.load("a.txt");
    await project.hook("PreToolUse", file);
    writeFileSync(file, "one\nTWO\nthree\n");
    await project.taken(block, 2);
    await project.hook("PostToolUse", file);
    const versions = await project.history(block);
    expect(versions).toHaveLength(2);
    expect(versions[0]).toMatchObject({ ...theAgent, version: 2, tool: "Edit" });
    // What comes later is nobody's that we know of.
    appendFileSync(file, "four\n");
    await project.taken(block, 3);
    expect((await project.history(block))[0]).toMatchObject({ version: 3, actor: "disk" });
  });

  test("a new file in a new folder is the agent's from its first version on", async () => {
    await using project = await Project.open();
    const file = project.path("deep/new/b.txt");
    await project.hook("PreToolUse", file, { tool: "Write" });
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, "one\nTWO\n");
    await project.hook("PostToolUse", file, { tool: "Write" });
    const versions = await project.history(await project.load("deep/new/b.txt"));
    expect(versions).toEqual([expect.objectContaining({ ...theAgent, tool: "Write" })]);
  });

  test("of a file that nobody knew before the edit, the whole is not taken for the agent's", async () => {
    await using project = await Project.open();
    await project.hook("PostToolUse", project.path("a.txt"));
    const versions = await project.history(await project.load("a.txt"));
    expect(versions.map(({ actor }) => actor)).toEqual(["disk"]);
  });

  test("also by a link, and in another folder that the kernel of the agent's folder has mounted", async () => {
    await using project = await Project.open();
    const around = dirname(project.folder);
    const other = join(around, "other");
    mkdirSync(other);
    writeFileSync(join(other, "a.txt"), "one\ntwo\nthree\n");
    await project.mount("other", other);
    for (const folder of [project.folder, other]) {
      const link = join(around, `${basename(folder)}-link`);
      symlinkSync(folder, link);
      for (const [index, way] of [folder, link].entries()) {
        const edit = ["three\n", "three\nmore\n"] as const;
        await project.hook("PreToolUse", join(way, "a.txt"), { edit });
        appendFileSync(join(way, "a.txt"), "more\n");
        await project.hook("PostToolUse", join(way, "a.txt"));
        const block = await project.load(join("..", basename(folder), "a.txt"));
        const [newest] = await project.history(block);
        expect([way, newest]).toEqual([
          way,
          expect.objectContaining({ ...theAgent, version: index + 2 }),
        ]);
      }
    }
  });

  test("two calls are two Edits, each under its own id", async () => {
    await using project = await Project.open();
    const file = project.path("a.txt");
    for (const call of ["toolu_1", "toolu_2"]) {
      const end = call === "toolu_1" ? "three\n" : "toolu_1\n";
      await project.hook("PreToolUse", file, { call, edit: [end, `${end}${call}\n`] });
      appendFileSync(file, `${call}\n`);
      await project.hook("PostToolUse", file, { call });
    }
    const versions = await project.history(await project.load("a.txt"));
    expect(versions.map(({ actor, call }) => [actor, call])).toEqual([
      ["claude-code", "toolu_2"],
      ["claude-code", "toolu_1"],
      ["disk", undefined],
    ]);
  });

  test("what the person writes instead of what they refused is not the agent's", async () => {
    await using project = await Project.open();
    const file = project.path("a.txt");
    const block = await project.load("a.txt");
    await project.hook("PreToolUse", file);
    writeFileSync(file, "one\ntwo, by ann\nthree\n");
    await project.taken(block, 2);
    // The same words from the person's own hand, after they spoke to the agent again.
    await project.hook("PreToolUse", file, { call: "toolu_2" });
    await project.hook("UserPromptSubmit", file);
    writeFileSync(file, "one\nTWO, by ann\nthree\n");
    await project.taken(block, 3);
    const versions = await project.history(block);
    expect(versions.map(({ actor }) => actor)).toEqual(["disk", "disk", "disk"]);
    // A session that goes on announces anew, also where the agent might not have written.
    writeFileSync(project.path("kumiko.toml"), '[[rule]]\npath = "a.txt"\nlevel = "human"\n');
    writeFileSync(file, "one\ntwo\nthree\n");
    await project.taken(block, 4);
    await project.hook("PreToolUse", file);
    writeFileSync(file, "one\nTWO\nthree\n");
    await project.taken(block, 5);
    await project.hook("PostToolUse", file);
    expect(await project.history(block)).toMatchObject([theAgent, {}, {}, {}, {}]);
  });

  test("knows what each of the agent's tools is about to write", async () => {
    const read = (tool_name: string, tool_input: object) =>
      hookEvents(
        Buffer.from(JSON.stringify({ hook_event_name: "PreToolUse", tool_name, tool_input })),
        "/project",
      )[0];
    const file_path = "a.txt";
    expect(read("Write", { file_path, content: "x\n" })).toMatchObject({
      path: "/project/a.txt",
      announced: { content: "x\n" },
    });
    expect(read("Edit", { file_path, old_string: "a", new_string: "" })).toMatchObject({
      announced: { edits: [{ old: "a", new: "" }] },
    });
    const edits = [
      { old_string: "a", new_string: "b", replace_all: true },
      { old_string: "c", new_string: "d", replace_all: false },
    ];
    expect(read("MultiEdit", { file_path, edits })).toMatchObject({
      announced: {
        edits: [
          { old: "a", new: "b", all: true },
          { old: "c", new: "d" },
        ],
      },
    });
    const notebook_path = "a.ipynb";
    const cell = { notebook_path, new_source: 'print("1")\n\nx = 2' };
    expect(read("NotebookEdit", cell)).toMatchObject({
      announced: { holds: ['print(\\"1\\")', "x = 2"] },
    });
    // Of what is not said nothing is believed.
    expect(read("NotebookEdit", { notebook_path, edit_mode: "delete" })).toMatchObject({
      announced: { holds: [] },
    });
  });

  test("blames all files of a patch by Codex on it, its session and its call", async () => {
    await using project = await Project.open();
    writeFileSync(project.path("b.txt"), "one\n");
    const blocks = [await project.load("a.txt"), await project.load("b.txt")] as const;
    const lines = [
      "*** Begin Patch",
      "*** Update File: a.txt",
      "@@",
      "-two",
      "+TWO",
      "*** Add File: deep/c.txt",
      "+new",
      `*** Update File: ${project.path("b.txt")}`,
      "@@",
      " one",
      "+two",
      "*** End Patch",
    ];
    // As Codex 0.166 says it.
    const call = "call_rTq2nB7hLw";
    const hook = async (event: string): Promise<void> => {
      const input = JSON.stringify({
        session_id: SESSION,
        turn_id: "01a1e584-492f-7761-b2c7-07e55c6e5440",
        cwd: project.folder,
        hook_event_name: event,
        model: "gpt-5.5",
        permission_mode: "default",
        tool_name: "apply_patch",
        tool_input: { command: `${lines.join("\n")}\n` },
        ...(event === "PostToolUse" && { tool_response: "Exit code: 0\n" }),
        tool_use_id: call,
      });
      const setting = { folder: project.folder, environment: { KUMIKO_ACTOR: "ann" }, input };
      expect(await project.home.run(["hook", "codex"], setting)).toEqual(silence);
    };
    await hook("PreToolUse");
    writeFileSync(project.path("a.txt"), "one\nTWO\nthree\n");
    mkdirSync(project.path("deep"));
    writeFileSync(project.path("deep/c.txt"), "new\n");
    writeFileSync(project.path("b.txt"), "one\ntwo\n");
    // The watch may be faster than the second hook.
    await project.taken(blocks[0], 2);
    await hook("PostToolUse");
    const all = [...blocks, await project.load("deep/c.txt")];
    for (const block of all)
      expect((await project.history(block))[0]).toMatchObject({
        actor: "codex-mcp-client",
        turn: SESSION,
        call,
        tool: "apply_patch",
      });
  });

  test("without it the same is blamed on disk", async () => {
    await using project = await Project.open();
    const block = await project.load("a.txt");
    writeFileSync(project.path("a.txt"), "one\nTWO\nthree\n");
    await project.taken(block, 2);
    const [newest] = await project.history(block);
    expect(newest).toMatchObject({ version: 2, actor: "disk" });
    expect(newest).not.toHaveProperty("call");
  });

  test("is the same actor as the agent's calls over MCP", async () => {
    await using project = await Project.open();
    const file = project.path("a.txt");
    await project.hook("PreToolUse", file);
    writeFileSync(file, "one\nTWO\nthree\n");
    await project.hook("PostToolUse", file);
    const info = { name: "claude-code", version: "2.0.0" };
    const opening = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: info };
    const replace = { block_id: "a.txt", old: "three", new: "THREE" };
    const messages = [
      { id: 1, method: "initialize", params: opening },
      { method: "notifications/initialized" },
      { id: 2, method: "tools/call", params: { name: "block_replace", arguments: replace } },
    ];
    const input = messages.map((each) => `${JSON.stringify({ jsonrpc: "2.0", ...each })}\n`);
    const env = { ...project.home.environment, KUMIKO_ACTOR: "ann" };
    const options = { cwd: project.folder, env, input: input.join("") };
    const ended = await runProgram(process.execPath, [command, "mcp"], options);
    expect(ended).toMatchObject({ code: 0 });
    const versions = await project.history(await project.load("a.txt"));
    expect(versions.map(({ actor, tool }) => [actor, tool])).toEqual([
      ["claude-code", "block_replace"],
      ["claude-code", "Edit"],
      ["disk", undefined],
    ]);
  });

  test("says nothing and never fails, whatever it is given", async () => {
    await using project = await Project.open();
    const { home, folder } = project;
    const secret = project.path("ignored.txt");
    writeFileSync(project.path(".gitignore"), "ignored.txt\n");
    writeFileSync(secret, "x\n");
    const outside = home.folder.write("outside.txt", "x\n");
    const inputs = [
      "",
      "{",
      "null",
      "[]",
      '"PreToolUse"',
      "{}",
      payload("Stop", project.path("a.txt"), folder),
      payload("PreToolUse", outside, folder),
      payload("PostToolUse", outside, folder),
      payload("PostToolUse", outside, home.folder.path),
      payload("PostToolUse", "../outside.txt", folder),
      payload("PostToolUse", secret, folder),
      payload("PostToolUse", project.path(".git/config"), folder),
      payload("PostToolUse", project.path("missing.txt"), folder),
      payload("PostToolUse", `${project.path("a.txt")}\0`, folder),
      payload("PostToolUse", project.path("a.txt"), "/nowhere/at/all", { call: "x".repeat(200) }),
      payload("PreToolUse", folder, folder),
      payload("PreToolUse", project.path("a.txt"), folder, { more: { tool_input: null } }),
      payload("PreToolUse", project.path("a.txt"), folder, { more: { tool_input: "a.txt" } }),
    ];
    for (const input of inputs)
      expect([input, await home.run(["hook", "claude-code"], { folder, input })]).toEqual([
        input,
        silence,
      ]);
    const input = payload("PreToolUse", project.path("a.txt"), folder);
    expect(await home.run(["hook", "emacs"], { folder, input })).toEqual(silence);
    const told = await home.run(["hook", "claude-code", "--verbose"], { folder, input: "{" });
    expect(told).toMatchObject({ code: 0, out: "", err: expect.stringContaining("JSON") });
    const fine = await home.run(["hook", "claude-code", "--verbose"], { folder, input });
    expect(fine.err).toContain("is about to change");
    // Nobody's list of verbs has it.
    expect((await home.run(["--help"])).out).not.toMatch(/^ +hook\b/m);
  });

  test("does nothing without a server, as a program too, and makes nothing", async () => {
    using home = temporaryHome();
    const file = home.folder.write("a.txt", "x\n");
    const input = payload("PostToolUse", file, home.folder.path);
    expect(await home.program(["hook", "claude-code"], input)).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "",
    });
    expect(existsSync(home.environment["KUMIKO_HOME"]!)).toBe(false);
    // One that has ended is not started again.
    const place = home.environment["KUMIKO_HOME"]!;
    await (await startServer({ home: place, folder: home.folder.path })).close();
    const told = await home.run(["hook", "claude-code", "--verbose"], { input });
    expect(told).toMatchObject({ code: 0, out: "", err: expect.stringContaining("no server") });
  });
});

interface Settings {
  readonly hooks?: {
    readonly [event: string]: readonly {
      readonly matcher?: string;
      readonly hooks: readonly { readonly command: string }[];
    }[];
  };
}

describe("kumiko connect claude-code", () => {
  const hooks = agents["claude-code"].hooks!.text;
  const events = ["PreToolUse", "PostToolUse", "UserPromptSubmit"];

  /** A project's own settings, with other hooks before and behind. */
  const existing = `{
    "model": "opus",
    "hooks": {
        "PostToolUse": [ {"matcher":"Edit","hooks":[{"type":"command","command":"prettier"}]} ],
        "Stop": [{ "hooks": [{ "type": "command", "command": "say done" }] }]
    },
    "permissions": { "allow": [ "Bash(ls)" ] }
}
`;

  test("prints its hooks, writes them once beside all others, and takes them out again", async () => {
    using home = temporaryHome();
    const file = join(home.folder.path, ".claude", "settings.json");
    const printed = await home.run(["connect", "claude-code"]);
    expect(printed.out).toContain(file);
    expect(printed.out).toContain("hook claude-code || true");
    expect(existsSync(file)).toBe(false);

    mkdirSync(dirname(file));
    writeFileSync(file, existing);
    const written = await home.json(["connect", "claude-code", "--write"]);
    expect(written).toMatchObject({ changed: true, hooks: { file, changed: true } });
    const after = readFileSync(file, "utf8");
    const settings = JSON.parse(after) as Settings;
    for (const event of events) {
      const group = settings.hooks![event]!.at(-1)!;
      const tools = event === "UserPromptSubmit" ? undefined : "Edit|MultiEdit|Write|NotebookEdit";
      expect(group.matcher).toBe(tools);
      // Nothing of this machine is in a file that people share.
      expect(group.hooks).toEqual([
        {
          type: "command",
          command: expect.stringMatching(/^(npx --no )?kumiko hook claude-code \|\| true$/),
          timeout: 10,
        },
      ]);
    }
    expect(settings.hooks!["PostToolUse"]).toHaveLength(2);
    for (const line of existing.split("\n").filter((each) => /prettier|Stop|allow/.test(each)))
      expect(after).toContain(line.replace(/ \],$/, ""));
    expect(await home.json(["connect", "claude-code", "--write"])).toMatchObject({
      changed: false,
      hooks: { changed: false, backup: null },
    });
    expect(readFileSync(file, "utf8")).toBe(after);

    expect(await home.json(["connect", "claude-code", "--remove"])).toMatchObject({
      changed: true,
      hooks: { changed: true },
    });
    expect(readFileSync(file, "utf8")).toBe(existing);
    expect(existsSync(join(home.folder.path, ".mcp.json"))).toBe(false);
    expect(existsSync(`${file}.before-kumiko`)).toBe(false);
    expect(await home.json(["connect", "claude-code", "--remove"])).toMatchObject({
      changed: false,
      hooks: { changed: false },
    });
    const both = await home.json(["connect", "claude-code", "--remove", "--write"]);
    expect(both).toMatchObject({ error: { code: "invalid_argument" } });
  });

  test("with paths of this machine only in a file of one's own", async () => {
    using home = temporaryHome();
    const HOME = join(home.folder.path, "person");
    const args = ["connect", "claude-code", "--global", "--write"];
    const { hooks: said } = await home.json(args, { environment: { HOME } });
    expect(said).toMatchObject({ file: join(HOME, ".claude", "settings.json"), changed: true });
    const text = readFileSync(join(HOME, ".claude", "settings.json"), "utf8");
    const { command: line } = (JSON.parse(text) as Settings).hooks!["PreToolUse"]![0]!.hooks[0]!;
    expect(line).toContain(`hook claude-code --home ${home.environment["KUMIKO_HOME"]} || true`);
    expect(line.startsWith(process.execPath)).toBe(true);
  });

  test("changes neither file when one of them cannot be read", async () => {
    using home = temporaryHome();
    const file = join(home.folder.path, ".claude", "settings.json");
    mkdirSync(dirname(file));
    for (const text of ['{ "hooks": ', '{ "hooks": [] }', '{ "hooks": { "PreToolUse": {} } }']) {
      writeFileSync(file, text);
      expect(await home.json(["connect", "claude-code", "--write"])).toMatchObject({
        error: { code: "file_unreadable", facts: { path: file } },
      });
      expect(readFileSync(file, "utf8")).toBe(text);
      expect(existsSync(join(home.folder.path, ".mcp.json"))).toBe(false);
    }
  });

  test("says in one line of agents without hooks that their own edits are blamed on disk", async () => {
    using home = temporaryHome();
    const { hooks: none, notes } = await home.json(["connect", "cursor"]);
    expect([none, String(notes)]).toEqual([null, expect.stringContaining("blamed on `disk`")]);
    for (const agent of ["claude-code", "opencode"])
      expect(String((await home.json(["connect", agent]))["notes"])).not.toContain("disk");
  });

  test("leaves ours where somebody put it, and as they wrote it", () => {
    const ours = JSON.parse(hooks.with("", ["kumiko", "hook", "claude-code"])) as Settings;
    const behind = events.map((event) => [event, [...ours.hooks![event]!, { hooks: [] }]]);
    const moved = JSON.stringify({ hooks: Object.fromEntries(behind) as object });
    expect(hooks.with(moved, ["kumiko", "hook", "claude-code"])).toBe(moved);
  });

  test("replaces an older one of ours, also among others' in one group", () => {
    const older = "/opt/kumiko/bin/kumiko hook claude-code --home /old";
    const mixed = JSON.stringify({
      hooks: {
        PreToolUse: [
          { matcher: "Edit", hooks: [{ type: "command", command: older }] },
          {
            matcher: "Write",
            hooks: [
              { type: "command", command: "lint" },
              { type: "command", command: older },
              { type: "command", command: "kumiko status" },
            ],
          },
        ],
      },
    });
    const after = JSON.parse(hooks.with(mixed, ["kumiko", "hook", "claude-code"]));
    const lines = (after as Settings).hooks!["PreToolUse"]!.map((group) =>
      group.hooks.map((hook) => hook.command),
    );
    expect(lines).toEqual([["lint", "kumiko status"], ["kumiko hook claude-code || true"]]);
    const bare = JSON.parse(hooks.without(mixed)) as Settings;
    expect(bare.hooks!["PreToolUse"]!.map((group) => group.hooks.length)).toEqual([2]);
  });
});

/** What opencode hands to a plugin's functions. */
interface Plugin {
  readonly Kumiko: (place: { directory: string }) => Promise<{
    [hook: string]: (input: object, output?: object) => Promise<void>;
  }>;
}

describe("kumiko connect opencode", () => {
  test("writes a plugin once, and takes it away again, but no file of somebody else's", async () => {
    using home = temporaryHome();
    const file = join(home.folder.path, ".opencode", "plugin", "kumiko.js");
    expect((await home.run(["connect", "opencode"])).out).toContain(file);
    expect(existsSync(file)).toBe(false);
    const written = await home.json(["connect", "opencode", "--write"]);
    expect(written).toMatchObject({ changed: true, hooks: { file, changed: true, backup: null } });
    expect(readFileSync(file, "utf8")).toMatch(/const command = \["(npx","--no",")?kumiko","hook"/);
    expect(await home.json(["connect", "opencode", "--write"])).toMatchObject({
      changed: false,
      hooks: { changed: false },
    });
    expect(await home.json(["connect", "opencode", "--remove"])).toMatchObject({
      changed: true,
      hooks: { changed: true },
    });
    expect(existsSync(dirname(file))).toBe(false);

    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, "export const Mine = async () => ({});\n");
    expect(await home.json(["connect", "opencode", "--write"])).toMatchObject({
      error: { code: "file_unreadable", facts: { path: file } },
    });
    expect(await home.json(["connect", "opencode", "--remove"])).toMatchObject({
      hooks: { changed: false },
    });
    expect(readFileSync(file, "utf8")).toBe("export const Mine = async () => ({});\n");
    expect(existsSync(join(home.folder.path, "opencode.json"))).toBe(false);
  });

  test("blames what each of opencode's tools changes on it, its session and its call", async () => {
    await using project = await Project.open();
    const block = await project.load("a.txt");
    const place = ["--home", project.home.environment["KUMIKO_HOME"]!];
    const file = join(project.home.folder.path, "plugin.mjs");
    writeFileSync(
      file,
      opencodePlugin.with("", [process.execPath, command, "hook", "opencode", ...place]),
    );
    const { Kumiko } = (await import(pathToFileURL(file).href)) as Plugin;
    const hooks = await Kumiko({ directory: project.folder });
    const path = project.path("a.txt");
    const patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-TWO\n+2\n*** End Patch\n";
    const edit = { oldString: "three", newString: "THREE" };
    const calls: [tool: string, args: object, text: string][] = [
      ["edit", { filePath: path, oldString: "two", newString: "TWO" }, "one\nTWO\nthree\n"],
      ["multiedit", { filePath: "a.txt", edits: [edit] }, "one\nTWO\nTHREE\n"],
      ["apply_patch", { patchText: patch }, "one\n2\nTHREE\n"],
      ["write", { filePath: path, content: "all new\n" }, "all new\n"],
      ["edit", { filePath: path, oldString: "", newString: "made\n" }, "made\n"],
    ];
    for (const [index, [tool, args, text]] of calls.entries()) {
      const call = { tool, sessionID: "ses_1", callID: `call_${index}` };
      await hooks["tool.execute.before"]!(call, { args });
      writeFileSync(path, text);
      // Some versions say again what the call was given.
      await hooks["tool.execute.after"]!({ ...call, ...(index % 2 === 0 && { args }) }, {});
      await project.taken(block, index + 2);
      expect((await project.history(block))[0]).toMatchObject({
        actor: "opencode",
        tool,
        turn: "ses_1",
        call: call.callID,
      });
    }
    // One that was refused, and then the person speaks.
    const refused = { tool: "edit", sessionID: "ses_1", callID: "call_9" };
    const args = { filePath: path, oldString: "made", newString: "never" };
    await hooks["tool.execute.before"]!(refused, { args });
    await hooks["chat.message"]!({ sessionID: "ses_1" }, {});
    writeFileSync(path, "never\n");
    await project.taken(block, calls.length + 2);
    expect((await project.history(block))[0]).toMatchObject({ actor: "disk" });
    await hooks["tool.execute.before"]!({ ...refused, tool: "bash" }, { args: { command: "ls" } });
  });

  test("nothing of it keeps opencode from its work when there is no kumiko", async () => {
    using home = temporaryHome();
    const file = join(home.folder.path, "plugin.mjs");
    writeFileSync(
      file,
      opencodePlugin.with("", [join(home.folder.path, "no-such-program"), "hook"]),
    );
    const { Kumiko } = (await import(pathToFileURL(file).href)) as Plugin;
    const hooks = await Kumiko({ directory: home.folder.path });
    const call = { tool: "write", sessionID: "ses_1", callID: "call_1" };
    const args = { filePath: "a.txt", content: "" };
    await expect(hooks["tool.execute.before"]!(call, { args })).resolves.toBeUndefined();
    await expect(hooks["tool.execute.after"]!(call, {})).resolves.toBeUndefined();
  });
});
