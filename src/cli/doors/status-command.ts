import { askServer, findServer } from "../../app/running.ts";
import type { Status } from "../../doors/http/index.ts";
import { printJson } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import { printedBytes } from "../home/bytes.ts";
import { moment } from "../home/moment.ts";
import { bold, dim } from "../home/paint.ts";
import type { Terminal } from "../terminal.ts";
import { type OwnFlags, placeOf } from "./place.ts";

export interface StatusFlags extends OwnFlags {
  readonly link?: boolean;
}

/** The exit code is 1 when none runs. */
export async function showStatus(terminal: Terminal, flags: StatusFlags): Promise<number> {
  const home = placeOf(terminal, flags);
  const found = await findServer(home);
  if (found === undefined) {
    if (flags.json) await printJson(terminal, { ok: true, running: false, home });
    else await terminal.print(`No server runs for ${home}. Start one with kumiko serve.\n`);
    return exitCode.different;
  }
  const status = (await askServer(home, found, "GET", "/status.json")) as Status;
  const link = flags.link === true ? await newLink(terminal, flags, found.url) : undefined;
  if (flags.json) {
    const { url } = found;
    await printJson(terminal, {
      ok: true,
      running: true,
      home,
      url,
      ...status,
      ...(link && { link }),
    });
    return exitCode.fine;
  }
  const { server, kernels, connections } = status;
  const lines = [
    `${bold(terminal, found.url)}  ` +
      dim(
        terminal,
        `kumiko ${server.version}, process ${server.pid}, since ${moment(server.since)}`,
      ),
    ...(link === undefined ? [] : [`page  ${link}`]),
    "",
    ...kernels.map(({ kernel, folder, bytes, contexts, position }) => {
      const open =
        contexts === null ? "not open" : `${contexts.length} contexts, position ${position}`;
      return `${bold(terminal, kernel)}  ${folder ?? ""}  ${dim(terminal, `${printedBytes(bytes)}, ${open}`)}`;
    }),
    "",
    ...connections.map(
      ({ actor, kind, door, since, address }) =>
        `${actor} (${kind})  ${door}  ${dim(terminal, `since ${moment(since)}, from ${address}`)}`,
    ),
    ...(connections.length === 0 ? [dim(terminal, "nobody is connected")] : []),
  ];
  await terminal.print(`${lines.join("\n")}\n`);
  return exitCode.fine;
}

async function newLink(terminal: Terminal, flags: StatusFlags, url: string): Promise<string> {
  const { linkTo } = await import("./owner.ts");
  return linkTo(terminal, flags, url);
}
