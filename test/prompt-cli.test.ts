import { describe, expect, test } from "vitest";
import { temporaryHome } from "./support/kumiko.ts";

describe("kumiko prompt", () => {
  test("C1 parse shows the tree of a file or of standard input", async () => {
    using home = temporaryHome();
    home.folder.write("a.xml", 'Hi <answer n="1">yes <b>bold</b></answer>');
    expect(await home.run(["prompt", "parse", "a.xml"])).toEqual({
      code: 0,
      err: "",
      out: 'root 0–41\n  xml answer {"n":"1"} 3–41\n    xml b 21–32 "bold"\n',
    });
    const known = await home.run(["prompt", "parse", "--tags", "answer"], {
      input: "<answer><b>x</b></answer>",
    });
    expect(known.out).toBe('root 0–25\n  xml answer 0–25 "<b>x</b>"\n');
    home.folder.write("a.md", "# One\n\ntext\n");
    expect((await home.run(["prompt", "parse", "a.md"])).out).toContain(
      '  markdown One {"level":1} 0–12\n    paragraph 7–11 "text"\n',
    );
  });

  test("C2 what is odd is told with its line, and makes the exit code 1", async () => {
    using home = temporaryHome();
    const { code, err } = await home.run(["prompt", "parse", "-"], { input: "x\n <a>y" });
    expect([code, err]).toEqual([1, "line 2, column 2: <a> is still open where the input ends.\n"]);
  });

  test("C3 what parse prints as JSON can be rendered, with its messages", async () => {
    using home = temporaryHome();
    const parsed = await home.json(["prompt", "parse", "--events"], { input: "a<b>c</b>" });
    expect(parsed).toMatchObject({ ok: true, diagnostics: [] });
    expect(parsed["events"]).toHaveLength(8);
    const input = JSON.stringify(parsed);
    expect(await home.run(["prompt", "render"], { input })).toEqual({
      code: 0,
      err: "",
      out: "a<b>c</b>",
    });
    expect(await home.json(["prompt", "render"], { input })).toEqual({
      ok: true,
      text: "a<b>c</b>",
      messages: [{ role: "user", content: "a<b>c</b>" }],
    });
    expect((await home.run(["prompt", "render", "--messages"], { input })).out).toBe(
      "user:\na<b>c</b>\n",
    );
    const events = await home.run(["prompt", "parse", "--events"], { input: "a" });
    expect(
      events.out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).type),
    ).toEqual(["open", "delta", "close"]);
  });

  test("C4 wrong use is refused", async () => {
    using home = temporaryHome();
    for (const [args, input, message] of [
      [["parse", "--format", "html"], "x", "--format does not fit here"],
      [["parse", "--format", "markdown", "--tags", "a"], "x", "--tags does not fit here"],
      [["render", "--format", "tree"], "x", "is not JSON"],
      [["render", "--format", "tree"], "{}", "cannot be read"],
      [["parse", "nowhere.xml"], "", "nowhere.xml does not exist"],
    ] as const) {
      const { code, err } = await home.run(["prompt", ...args], { input });
      expect([code, err]).toEqual([2, expect.stringContaining(message)]);
    }
  });
});
