import { chmodSync, cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { root, runProgram, type Ended } from "./support/process.ts";
import { temporaryFolder, type TemporaryFolder } from "./support/temporary-folder.ts";

function lockfile(version: string): string {
  const one = { version, integrity: `sha512-${version}` };
  const foreign = { version, optional: true, os: ["another"] };
  return JSON.stringify({
    packages: { "": {}, "node_modules/one": one, "node_modules/foreign": foreign },
  });
}

const installsAll = `
  mkdir -p node_modules/node/bin node_modules/one
  touch node_modules/node/bin/node
  cp package-lock.json node_modules/.package-lock.json`;

/** A clone with the real set-up script and an npm that notes each install instead of making it. */
class Clone implements Disposable {
  readonly #folder: TemporaryFolder = temporaryFolder();

  constructor() {
    cpSync(join(root, "scripts"), join(this.#folder.path, "scripts"), { recursive: true });
    this.write("package.json", `{ "type": "module" }`);
    this.write("package-lock.json", lockfile("1.0.0"));
    this.npmDoes(installsAll);
  }

  npmDoes(commands: string): void {
    const script = `#!/bin/sh\necho "$@" >> installs\nrm -rf node_modules\n${commands}\n`;
    chmodSync(this.#folder.write("fake/npm", script), 0o755);
  }

  setup(): Promise<Ended> {
    const path = [join(this.#folder.path, "fake"), dirname(process.execPath), process.env["PATH"]];
    return runProgram(process.execPath, ["scripts/setup.mjs"], {
      cwd: this.#folder.path,
      env: { ...process.env, PATH: path.join(delimiter) },
    });
  }

  npm(command: string): Promise<Ended> {
    return runProgram(join(this.#folder.path, "fake", "npm"), [command], {
      cwd: this.#folder.path,
    });
  }

  remove(name: string): void {
    rmSync(join(this.#folder.path, name), { recursive: true });
  }

  write(name: string, content: string): void {
    writeFileSync(join(this.#folder.path, name), content);
  }

  get installs(): number {
    const file = join(this.#folder.path, "installs");
    return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n").length : 0;
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]();
  }
}

test("set-up installs in a fresh clone, says why, and not again", async () => {
  using clone = new Clone();
  const first = await clone.setup();
  expect(first).toMatchObject({ code: 0, stdout: "" });
  expect(first.stderr).toContain("Installing with npm ci, because there is no node_modules …");
  expect(await clone.setup()).toMatchObject({ code: 0, stdout: "", stderr: "" });
  expect(clone.installs).toBe(1);
});

test("set-up installs again when the lockfile has changed", async () => {
  using clone = new Clone();
  await clone.setup();
  clone.write("package-lock.json", lockfile("2.0.0"));
  const { stderr } = await clone.setup();
  expect(stderr).toContain("because node_modules/one is not what package-lock.json names");
  expect(clone.installs).toBe(2);
});

test("set-up repeats an install that failed or was cut off", async () => {
  using clone = new Clone();
  clone.npmDoes(`${installsAll}\necho no luck; exit 3`);
  const failed = await clone.setup();
  expect(failed.code).toBe(1);
  expect(failed.stderr).toContain("no luck\nnpm ci failed with exit code 3");
  expect((await clone.setup()).stderr).toContain("because the last install was not finished");
});

test("set-up leaves an install by hand as it is", async () => {
  using clone = new Clone();
  await clone.npm("install");
  expect(await clone.setup()).toMatchObject({ code: 0, stderr: "" });
  expect(clone.installs).toBe(1);
});

test("set-up installs again when a package is gone", async () => {
  using clone = new Clone();
  await clone.setup();
  clone.remove("node_modules/one");
  expect((await clone.setup()).stderr).toContain("node_modules/one is not what");
});

test("set-up explains when npm did not install the project's Node", async () => {
  using clone = new Clone();
  clone.npmDoes(`mkdir -p node_modules/one`);
  const ended = await clone.setup();
  expect(ended.code).toBe(1);
  expect(ended.stderr).toContain("allow install scripts");
});

test("two set-ups at once make one install", async () => {
  using clone = new Clone();
  clone.npmDoes(`sleep 1\n${installsAll}`);
  const both = await Promise.all([clone.setup(), clone.setup()]);
  expect(both.map(({ code }) => code)).toEqual([0, 0]);
  expect(both.map(({ stderr }) => stderr).join("")).toContain("Waiting for the install");
  expect(clone.installs).toBe(1);
});
