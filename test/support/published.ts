import { cpSync } from "node:fs";
import { join } from "node:path";
import { root, runProgram } from "./process.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** The command as it is published, made from the source as it is now; gone when its owner's `using` ends. */
export interface PublishedCommand extends Disposable {
  readonly command: string;
  /** Where its parts are. */
  readonly parts: string;
}

export async function publishedCommand(): Promise<PublishedCommand> {
  using opening = new DisposableStack();
  const folder = opening.use(belowProject());
  cpSync(join(root, "bin"), join(folder.path, "bin"), { recursive: true });
  cpSync(join(root, "package.json"), join(folder.path, "package.json"));
  const parts = join(folder.path, "dist", "cli");
  await bundle(join(root, "src", "cli", "main.ts"), parts);
  const owned = opening.move();
  return {
    command: join(folder.path, "bin", "kumiko"),
    parts,
    [Symbol.dispose]: () => owned.dispose(),
  };
}

/** Bundles an entry as the command is, and gives the folder that it is in. */
export async function bundled(entry: string): Promise<Disposable & { readonly path: string }> {
  using opening = new DisposableStack();
  const folder = opening.use(belowProject());
  await bundle(entry, folder.path);
  opening.move();
  return folder;
}

/** There the packages that stay outside a bundle are found. */
function belowProject() {
  return temporaryFolder(join(root, ".tmp"));
}

async function bundle(entry: string, folder: string): Promise<void> {
  const bundler = join(root, "scripts", "bundle.mjs");
  const { code, stderr } = await runProgram(process.execPath, [bundler, entry, folder]);
  if (code !== 0 || stderr !== "") throw new Error(`${entry} was not bundled: ${stderr}`);
}
