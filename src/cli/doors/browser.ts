import { spawn } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Terminal } from "../terminal.ts";

const openers: { readonly [platform: string]: string } = { darwin: "open", linux: "xdg-open" };

/**
 * Opens the page. The browser is given a file that leads there: what stands in a command, everybody on this machine
 * can read while it runs.
 */
export async function openInBrowser(terminal: Terminal, home: string, link: string): Promise<void> {
  const file = fileOf(home);
  const refresh = `<!doctype html><meta http-equiv="refresh" content="0;url=${link}">\n`;
  await writeFile(file, refresh, { mode: 0o600 });
  const opener = openers[process.platform];
  const complain = (why: string): void =>
    void terminal.complain(`kumiko: no browser could be opened (${why}); use the link.\n`);
  if (opener === undefined) {
    complain(`not known for ${process.platform}`);
    return;
  }
  const child = spawn(opener, [file], { stdio: "ignore", detached: true });
  child.once("error", (error) => complain(error.message));
  child.unref();
}

export async function forgetOpened(home: string): Promise<void> {
  await rm(fileOf(home), { force: true });
}

function fileOf(home: string): string {
  return join(home, "open.html");
}
