import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startServer } from "../src/app/server.ts";
import { following } from "./support/following.ts";
import { type Home, temporaryHome } from "./support/kumiko.ts";
import { serving } from "./support/serving.ts";

type Json = { readonly [name: string]: unknown };
const lines = (out: string): Json[] =>
  out
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Json);
const create = (context: string, content: string): string[] => [
  ...`block create --context ${context} --role user --kind text`.split(" "),
  `--content=${content}`,
];

async function contexts(home: Home): Promise<void> {
  for (const name of ["main", "side"]) await home.run(["context", "new", name]);
}

describe("kumiko watch", () => {
  test("calls files by their paths, and for programs by both", async () => {
    using home = temporaryHome();
    const folder = join(home.folder.path, "proj");
    mkdirSync(folder);
    writeFileSync(join(folder, "windows.txt"), "one\r\n");
    await using stack = new AsyncDisposableStack();
    stack.use(await startServer({ home: home.environment["KUMIKO_HOME"]! }));
    await home.run(["mount", folder]);
    await using watch = following(home, ["watch"]);
    await using json = following(home, ["watch", "--json"]);
    for (const each of [watch, json]) await each.until((_, err) => err.includes("watching main"));
    await home.run(["block", "replace", "proj/windows.txt", "--old", "one", "--new", "two"]);
    await watch.until((out) => out.includes("version 2"));
    expect(watch.out).toMatch(/replace {2}proj\/windows\.txt {2}version 2\n/);
    expect(watch.out).not.toContain("~file~");
    await json.until((out) => out.includes('"version":2'));
    expect(lines(json.out).at(-1)).toMatchObject({
      block: "@proj~file~1",
      path: "proj/windows.txt",
    });
  });

  test("needs a server, and says how to start one", async () => {
    using home = temporaryHome();
    await home.run(["context", "new", "main"]);
    const { code, err } = await home.run(["watch"]);
    expect([code, err]).toEqual([2, expect.stringContaining("kumiko serve")]);
    expect(await home.json(["watch", "--topic", "blocks"])).toMatchObject({
      error: { code: "invalid_argument", facts: { value: "blocks" } },
    });
  });

  test("shows who did what to which block, in lines that cannot draw on the screen", async () => {
    using home = temporaryHome();
    await using stack = new AsyncDisposableStack();
    stack.use(await startServer({ home: home.environment["KUMIKO_HOME"]! }));
    await contexts(home);
    await using watch = following(home, ["watch"]);
    await watch.until((_, err) => err.includes("watching main"));
    await home.run(create("main", "Hello\n\u001b[2J\u001b]0;owned\u0007world"));
    const base = ["--base-version", "1", "--message", "shorter\u001b[31m"];
    const operations = '[{"op":"delete","start_line":0,"end_line":1}]';
    await home.run(["block", "edit", "main~ann~1", "--operations", operations, ...base]);
    await home.run(["undo", "--actor", "ann"]);
    await watch.until((out) => out.includes("takes back"));
    expect(watch.out).toMatch(
      /^20\d\d-\d\d-\d\d\n1 \d\d:\d\d:\d\d {2}ann {2}create {2}main~ann~1 {2}version 1/,
    );
    expect(watch.out).toMatch(/\n2 \d\d:\d\d:\d\d {2}ann {2}edit {4}main~ann~1 {2}version 2\n/);
    expect(watch.out).toContain('    "shorter\\u001b[31m"\n');
    expect(watch.out).toContain("    + Hello\n");
    expect(watch.out).toContain("\\x1b[2J\\x1b]0;owned\\x07world");
    expect(watch.out).toContain("    - 6 characters\n");
    expect(watch.out).toMatch(/ann {2}undo/);
    // oxlint-disable-next-line no-control-regex
    expect(watch.out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f]/);
    expect(await watch.stop("SIGINT")).toBe(0);
  });

  test("refuses a context that is not there at once, and names the nearest", async () => {
    using home = temporaryHome();
    await using stack = new AsyncDisposableStack();
    stack.use(await startServer({ home: home.environment["KUMIKO_HOME"]! }));
    await contexts(home);
    const { code, out, err } = await home.run(["watch", "--context", "sdie"]);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain("The kernel main has no context sdie. Did you mean side?");
    expect(
      await home.json(["watch", "--context", "nosuchthing", "--topic", "context"]),
    ).toMatchObject({ error: { code: "unknown_context", facts: { contexts: ["main", "side"] } } });
  });

  test("goes on when the owner's token is lost, replaced or revoked meanwhile", async () => {
    using home = temporaryHome();
    const place = home.environment["KUMIKO_HOME"]!;
    await using stack = new AsyncDisposableStack();
    const server = stack.use(await startServer({ home: place }));
    await contexts(home);
    const file = join(place, "owner.token");
    rmSync(file);
    await using watch = following(home, ["watch", "--from", "0", "--json"]);
    await watch.until((_, err) => err.includes("watching main"));
    await home.run(create("main", "one"));
    await watch.until((out) => lines(out).length === 1);
    const own = await server.hall.tokens.authenticate(readFileSync(file, "utf8").trim());
    expect((await home.run(["token", "revoke", own.token, "--yes"])).code).toBe(0);
    await watch.until((_, err) => err.split("watching main").length === 3);
    await home.run(create("main", "two"));
    await watch.until((out) => lines(out).length === 2);
    expect(lines(watch.out).map(({ block }) => block)).toEqual(["main~ann~1", "main~ann~2"]);
    expect(await watch.stop("SIGINT")).toBe(0);
  });

  test("chooses by context and topic, and begins where it is told", async () => {
    using home = temporaryHome();
    await using stack = new AsyncDisposableStack();
    stack.use(await startServer({ home: home.environment["KUMIKO_HOME"]! }));
    await contexts(home);
    await home.run(create("main", "one"));
    await home.run(create("side", "two"));
    await using side = following(home, ["watch", "--context", "side", "--from", "0", "--json"]);
    await using notices = following(home, ["watch", "--topic", "context", "--json"]);
    await using both = following(
      home,
      "watch --topic block --topic context --context main --from 0 --json".split(" "),
    );
    for (const each of [side, notices, both])
      await each.until((_, err) => err.includes("watching"));
    await both.until((out) => out.includes("main~ann~1"));
    await home.run(create("side", "three"));
    await home.run(create("main", "four"));
    await home.run(["context", "join", "side", "--instance", "desk"]);
    await home.run(["context", "join", "main", "--instance", "desk"]);
    await notices.until((out) => lines(out).length === 2);
    await side.until((out) => lines(out).length === 2);
    await both.until((out) => lines(out).length === 3);
    expect(lines(side.out).map(({ block }) => block)).toEqual(["side~ann~1", "side~ann~2"]);
    expect(lines(notices.out).map(({ topic }) => topic)).toEqual(["context", "context"]);
    expect(
      lines(both.out).map(({ topic, block, notice }) => [topic, block ?? (notice as Json)["kind"]]),
    ).toEqual([
      ["block", "main~ann~1"],
      ["block", "main~ann~2"],
      ["context", "joined"],
    ]);
  });

  test("goes on where it was when the server was killed and runs again, here or elsewhere", async () => {
    using home = temporaryHome();
    const program = async (...args: string[]): Promise<void> => {
      const { code, stderr } = await home.program(args);
      expect([code, stderr]).toEqual([0, ""]);
    };
    await using stack = new AsyncDisposableStack();
    let server = stack.use(await serving(home));
    await program("context", "new", "main");
    const watch = stack.use(following(home, ["watch", "--json"]));
    await watch.until((_, err) => err.includes("watching"));
    await program(...create("main", "one"));
    await watch.until((out) => lines(out).length === 1);
    const port = Number(new URL(server.told.url).port);
    for (const [at, again] of [port, 0].entries()) {
      server.child.kill("SIGKILL");
      await server.ended;
      await watch.until((_, err) => err.split("was lost").length === at + 2);
      server = stack.use(await serving(home, again));
      await program(...create("main", "more"));
      await watch.until((out) => lines(out).length === at + 2);
    }
    expect(lines(watch.out).map(({ position }) => position)).toEqual([1, 2, 3]);
    expect(watch.err).toContain(
      "connected again; it goes on behind position 1, nothing was missed",
    );
    expect(watch.err).toContain(
      `watching ${server.told.kernel} at ${server.told.url}, behind position 2`,
    );
    server.child.kill("SIGINT");
    await server.ended;
    // Nobody is there to say goodbye to.
    expect(await watch.stop("SIGINT")).toBe(0);
  });
});
