import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runProgram } from "../../test/support/process.ts";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { AttributeLister, PROGRAMS } from "./attribute-lister.ts";

const SETTING = "import os, sys\nfor p in sys.argv[2:]: os.setxattr(p, sys.argv[1], b'1')";

const ways: [string, typeof PROGRAMS][] = [
  ...PROGRAMS.map((program): [string, typeof PROGRAMS] => [program[0], [program]]),
  ["the second where the first is missing", [["no-such-program"], ...PROGRAMS]],
  ["the second where the first ends", [["true"], ...PROGRAMS]],
  ["the second where the first says nothing", [["sh", "-c", "exec 1>&-; cat"], ...PROGRAMS]],
];

it.runIf(process.platform === "linux").each(ways)(
  "lists attributes of many files at once by %s",
  async (_, programs) => {
    using folder = temporaryFolder();
    const names = ["plain", "tagged é", "a b\nc", "-e"];
    const paths = names.map((name) => folder.write(name, ""));
    execFileSync("python3", ["-c", SETTING, "user.tag", ...paths.slice(1)]);
    execFileSync("python3", ["-c", SETTING, "user.ü", paths[2]!]);
    const lister = new AttributeLister(programs);
    const asked = [...paths, ...paths, join(folder.path, "absent")];
    const found = await Promise.all(asked.map((path) => lister.namesOf(path)));
    const once = [[], ["user.tag"], ["user.tag", "user.ü"], ["user.tag"]];
    expect(found.map((each) => each.toSorted())).toEqual([...once, ...once, []]);
  },
);

it("lists none where no program can be used", async () => {
  const lister = new AttributeLister([["no-such-program"], ["false"]]);
  expect(await Promise.all([lister.namesOf("/"), lister.namesOf("/")])).toEqual([[], []]);
});

it("keeps no process from ending", async () => {
  const program = `
    import { AttributeLister } from "./src/files/attribute-lister.ts";
    process.stdout.write("");
    const held = () => process.getActiveResourcesInfo().join();
    const before = held();
    const asking = new AttributeLister().namesOf("/dev/null");
    const meanwhile = held();
    const names = await asking;
    console.log(JSON.stringify([names, meanwhile === before, held() === before]));
  `;
  const { stdout } = await runProgram(process.execPath, ["--input-type=module", "-e", program], {
    cwd: join(import.meta.dirname, "..", ".."),
  });
  expect(JSON.parse(stdout)).toEqual([[], false, true]);
});
