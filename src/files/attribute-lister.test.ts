import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runProgram } from "../../test/support/process.ts";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { AttributeLister, PROGRAMS } from "./attribute-lister.ts";

const SETTING = "import os, sys\nfor p in sys.argv[2:]: os.setxattr(p, sys.argv[1], b'1')";

const MISSING = ["no-such-program"] as const;
const ways: [string, typeof PROGRAMS][] = [
  ...PROGRAMS.map((program): [string, typeof PROGRAMS] => [program[0], [program]]),
  ["the second where the first is missing", [MISSING, ...PROGRAMS]],
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
    const found = await Promise.all([...paths, ...paths].map((path) => lister.namesOf(path)));
    const once = [[], ["user.tag"], ["user.tag", "user.ü"], ["user.tag"]];
    expect(found.map((each) => each?.toSorted())).toEqual([...once, ...once]);
  },
);

it("lists none where there is no program, and says so where one cannot tell", async () => {
  const asked = async (lister: AttributeLister): Promise<unknown[]> =>
    Promise.all([lister.namesOf("/"), lister.namesOf("/")]);
  expect(await asked(new AttributeLister([MISSING]))).toEqual([[], []]);
  expect(await asked(new AttributeLister([["true"], ...PROGRAMS]))).toEqual([undefined, undefined]);
  const silent = new AttributeLister([["cat"], ...PROGRAMS], 50);
  const long = `/${"a".repeat(300)}`;
  expect(await silent.namesOf(long)).toBeUndefined();
  for (const program of PROGRAMS)
    expect(await new AttributeLister([program]).namesOf("/no/such/file")).toBeUndefined();
});

it("starts a program again that somebody ended", async () => {
  using folder = temporaryFolder();
  const once = `[ -e "$0" ] || { : > "$0"; exit 1; }; while read -r line; do printf "\\0\\0\\0\\0"; done`;
  const program = [
    "bash",
    "-c",
    once.replace("read -r", "read -r -d ''"),
    join(folder.path, "ran"),
  ];
  const lister = new AttributeLister([program as [string, ...string[]]]);
  expect(await Promise.all([lister.namesOf("/a"), lister.namesOf("/b")])).toEqual([[], []]);
});

it("gives up a question after its own time, whoever asks meanwhile", async () => {
  const lister = new AttributeLister([["sleep", "60"]], 100);
  const first = lister.namesOf("/");
  // Each of them would put off the end by as long again.
  const others = setInterval(() => void lister.namesOf("/"), 20);
  const asking = setTimeout(() => clearInterval(others), 5_000);
  const begun = performance.now();
  expect(await first).toBeUndefined();
  expect(performance.now() - begun).toBeLessThan(5_000);
  clearTimeout(asking);
  clearInterval(others);
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
