import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { agentNames, agents, configurationFile } from "../src/cli/doors/agents.ts";
import { temporaryHome } from "./support/kumiko.ts";

const existing: { readonly [format: string]: string } = {
  json: '{\n\t"mcpServers": {\n\t\t"other": { "command": "x",   "args": [] }\n\t},\n\t"numStartups": 1e3\n}\n',
  jsonc: '{\n  // mine\n  "theme": "dark",\n  "mcp": { "other": { "type": "local" }, },\n}\n',
  toml: '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "x"\n',
};
const broken: { readonly [format: string]: string } = {
  json: '{\n  // not JSON\n  "mcpServers": {}\n}\n',
  jsonc: '{ "mcp": \n',
  toml: "[mcp_servers\n",
};

describe.each(agentNames)("kumiko connect %s", (name) => {
  const agent = agents[name];

  test.each([false, true])(
    "prints, then writes and keeps everything else; global: %s",
    async (everywhere) => {
      using home = temporaryHome();
      const environment = { HOME: join(home.folder.path, "person") };
      const project = join(home.folder.path, "project");
      for (const folder of [environment.HOME, project]) mkdirSync(folder);
      const setting = { environment, folder: project };
      const file = configurationFile({ folder: project, environment }, agent, everywhere);
      const args = ["connect", name, ...(everywhere ? ["--global"] : [])];
      const printed = await home.run(args, setting);
      expect(printed.code).toBe(0);
      expect(printed.out).toContain(file);
      expect(printed.out).toContain('"mcp"');
      expect(
        readdirSync(dirname(project), { recursive: true }).filter(
          (each) => String(each).endsWith(".json") || String(each).endsWith(".toml"),
        ),
      ).toEqual([]);

      mkdirSync(dirname(file), { recursive: true });
      const before = existing[agent.format]!;
      writeFileSync(file, before, { mode: 0o640 });
      const written = await home.run([...args, "--write"], setting);
      expect([written.code, written.err]).toEqual([0, ""]);
      expect(written.out).toContain(`+++ ${file}`);
      const after = readFileSync(file, "utf8");
      const kept = before.split("\n").filter((line) => !/other.*[},]$/.test(line));
      for (const line of kept) expect(after).toContain(line.replace(/,?$/, ""));
      expect(after).toContain("other");
      // A file of the project is for everyone who works on it: nothing of this machine is in it.
      expect(after.includes(home.folder.path)).toBe(everywhere);
      expect(after.includes(process.execPath)).toBe(everywhere);
      expect(written.out.includes("must have $KUMIKO_HOME set")).toBe(!everywhere);
      expect(written.out).toContain(`Written to ${file}: ${agent.title} starts \``);
      expect(statSync(file).mode & 0o777).toBe(0o640);
      expect(readFileSync(`${file}.before-kumiko`, "utf8")).toBe(before);
      if (agent.format === "json") {
        const { mcpServers, numStartups } = JSON.parse(after) as {
          mcpServers: { [name: string]: { command: string; args: string[] } };
          numStartups: number;
        };
        expect(numStartups).toBe(1000);
        expect(mcpServers["kumiko"]!.args).toContain("mcp");
      }
      const again = await home.json([...args, "--write"], setting);
      expect(again).toMatchObject({ ok: true, changed: false, backup: null, file });
      const copies = readdirSync(dirname(file)).filter((each) =>
        each.startsWith(`${basename(file)}.before`),
      );
      expect(copies).toEqual([`${basename(file)}.before-kumiko`]);
    },
  );

  test("refuses a file that it cannot read, and leaves it alone", async () => {
    using home = temporaryHome();
    const file = join(home.folder.path, agent.project);
    mkdirSync(dirname(file), { recursive: true });
    const text = broken[agent.format]!;
    writeFileSync(file, text);
    expect(await home.json(["connect", name, "--write"])).toMatchObject({
      error: { code: "file_unreadable", message: expect.stringContaining("left as it is") },
    });
    expect(readFileSync(file, "utf8")).toBe(text);
    expect(readdirSync(dirname(file)).filter((each) => each.includes("kumiko-"))).toEqual([]);
  });

  test("says of a file that has comments or trailing commas that it must have none", async () => {
    using home = temporaryHome();
    const files = [...(agent.format === "json" ? [agent] : []), agent.hooks]
      .map((each) => each?.project ?? "")
      .filter((each) => each.endsWith(".json"));
    for (const project of files) {
      const file = join(home.folder.path, project);
      for (const text of ['{\n  // mine\n  "a": {}\n}\n', '{\n  "a": {},\n}\n']) {
        home.folder.write(project, text);
        const { code, err } = await home.run(["connect", name, "--write"]);
        expect(code).toBe(2);
        const [start, end] = err.split(/, and it is not: .* \(line [23] column \d\)\. /);
        expect(start).toBe(
          `kumiko: ${file} was left as it is: it has to be plain JSON (comments and trailing commas are not, and could not be kept)`,
        );
        expect(end).toBe(
          "Put it right, or add by hand what `kumiko connect` prints without --write.\n",
        );
        expect((await home.run(["connect", name, "--remove"])).err).toContain("take out by hand");
        expect(readFileSync(file, "utf8")).toBe(text);
      }
      rmSync(file);
    }
  });
});

describe("kumiko connect", () => {
  test("writes where a link leads, and never over an earlier copy", async () => {
    using home = temporaryHome();
    const kept = home.folder.write("dotfiles.json", "{}\n");
    const file = join(home.folder.path, ".mcp.json");
    symlinkSync(kept, file);
    for (const other of ["/a", "/b"])
      expect(
        await home.json(["connect", "claude-code", "--write", "--absolute", "--home", other]),
      ).toMatchObject({
        changed: true,
      });
    expect(readFileSync(kept, "utf8")).toContain("/b");
    expect(readFileSync(`${file}.before-kumiko`, "utf8")).toBe("{}\n");
    // What has our own entry in it is no copy of what a person had.
    expect(existsSync(`${file}.before-kumiko-2`)).toBe(false);
    await home.json(["connect", "claude-code", "--remove"]);
    writeFileSync(`${file}.before-kumiko`, "mine\n");
    await home.json(["connect", "claude-code", "--write"]);
    expect(readFileSync(`${file}.before-kumiko`, "utf8")).toBe("mine\n");
    expect(readFileSync(`${file}.before-kumiko-2`, "utf8")).toBe("{}\n");
  });

  test.each(agentNames)("removing it from %s leaves nothing of ours behind", async (agent) => {
    using home = temporaryHome();
    const { path: folder } = home.folder;
    const all = (): unknown[] =>
      readdirSync(folder, { recursive: true, withFileTypes: true }).map((each) => {
        const file = join(each.parentPath, each.name);
        return [file, each.isFile() ? readFileSync(file, "utf8") : "a folder"];
      });
    const before = all();
    await home.json(["connect", agent, "--write"]);
    expect(all()).not.toEqual(before);
    const { project, format, hooks } = agents[agent];
    // Hooks are known by the name of the command, which a test runner is not.
    if (hooks === undefined)
      await home.json(["connect", agent, "--write", "--absolute", "--home", "/other"]);
    await home.json(["connect", agent, "--remove"]);
    expect(all()).toEqual(before);

    const odd =
      format === "toml" ? '\n# mine\nmodel = "x"' : '{ "mcpServers": {}, "mcp": {},\t"x": 1}';
    home.folder.write(project, odd);
    const owned = all();
    await home.json(["connect", agent, "--write"]);
    await home.json(["connect", agent, "--remove"]);
    expect(all()).toEqual(owned);

    await home.json(["connect", agent, "--write"]);
    const file = join(folder, project);
    const edited = readFileSync(file, "utf8").replace(/"x"(: 1)?/, (found) =>
      found.replace("x", "y"),
    );
    writeFileSync(file, edited);
    await home.json(["connect", agent, "--remove"]);
    expect(readFileSync(file, "utf8")).toContain('"y"');
    expect(readFileSync(file, "utf8")).not.toContain("kumiko");
  });

  test("writes kumiko where it is on the PATH, else what the project has, and paths only when asked", async () => {
    using home = temporaryHome();
    const project = join(home.folder.path, "project", "deep");
    mkdirSync(project, { recursive: true });
    const program = (folder: string): string => {
      mkdirSync(join(home.folder.path, folder), { recursive: true });
      writeFileSync(join(home.folder.path, folder, "kumiko"), "", { mode: 0o755 });
      return join(home.folder.path, folder);
    };
    const entry = async (PATH: string, ...more: string[]) => {
      const environment = { PATH, KUMIKO_HOME: "", HOME: home.folder.path };
      const setting = { folder: project, environment };
      const answer = await home.json(["connect", "cursor", ...more], setting);
      const { mcpServers } = JSON.parse(String(answer["text"])) as {
        mcpServers: { kumiko: { command: string; args: string[] } };
      };
      const { command, args } = mcpServers.kumiko;
      return { words: [command, ...args], notes: String(answer["notes"]) };
    };
    const lacking = await entry("/nowhere::relative");
    expect(lacking.words).toEqual(["npx", "--no", "kumiko", "mcp"]);
    expect(lacking.notes).toContain("npm install --save-dev kumiko");
    program("project/node_modules/.bin");
    const installed = await entry("/nowhere");
    expect(installed.words).toEqual(["npx", "--no", "kumiko", "mcp"]);
    expect(installed.notes).not.toContain("npm install");
    const onPath = await entry(`/nowhere:${program("bin")}`);
    expect(onPath.words).toEqual(["kumiko", "mcp"]);
    for (const asked of ["--absolute", "--global"])
      expect((await entry("", asked)).words[0]).toBe(process.execPath);
    const refused = await home.json(["connect", "cursor", "--write", "--home", "/a"]);
    expect(refused).toMatchObject({
      error: { code: "invalid_argument", message: expect.stringContaining("--global") },
    });
    expect(readdirSync(home.folder.path)).not.toContain(".cursor");
  });

  test("says what lets Codex edit where nobody can be asked", async () => {
    using home = temporaryHome();
    const { notes } = await home.json(["connect", "codex"]);
    expect(String(notes)).toContain('mcp_servers.kumiko.default_tools_approval_mode="approve"');
  });

  test("makes no second file beside the one in which opencode reads comments", async () => {
    using home = temporaryHome();
    const { path: folder } = home.folder;
    const text = existing["jsonc"]!;
    const file = home.folder.write("opencode.jsonc", text);
    const files = (): string[] =>
      readdirSync(folder).filter((each) => /^opencode\.jsonc?$/.test(each));
    expect((await home.run(["connect", "opencode"])).out).toContain(`${file}:`);
    expect(await home.json(["connect", "opencode", "--write"])).toMatchObject({ file });
    expect(readFileSync(file, "utf8")).toContain('// mine\n  "theme": "dark"');
    expect(readFileSync(file, "utf8")).toContain('"kumiko"');
    expect(files()).toEqual(["opencode.jsonc"]);
    // Where there are two, it stays where it is.
    const other = home.folder.write("opencode.json", "{}\n");
    expect(await home.json(["connect", "opencode", "--write"])).toMatchObject({
      file,
      changed: false,
    });
    expect(await home.json(["connect", "opencode", "--remove"])).toMatchObject({ file });
    expect([readFileSync(file, "utf8"), readFileSync(other, "utf8")]).toEqual([text, "{}\n"]);
    expect(await home.json(["connect", "opencode", "--write"])).toMatchObject({ file: other });
    writeFileSync(file, broken["jsonc"]!);
    expect((await home.json(["connect", "opencode", "--remove"]))["error"]).toBeUndefined();
  });

  test("knows no other agents, and says which it knows", async () => {
    using home = temporaryHome();
    const { code, err } = await home.run(["connect", "emacs"]);
    expect([code, err]).toEqual([
      2,
      expect.stringContaining("claude-code, codex, opencode, cursor"),
    ]);
  });
});
