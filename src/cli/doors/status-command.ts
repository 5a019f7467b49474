import { findServer } from "../../app/running.ts";
import type { Status } from "../../doors/http/index.ts";
import { printJson } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import { printedBytes } from "../home/bytes.ts";
import { counted } from "../home/counted.ts";
import { moment } from "../home/moment.ts";
import { mountLines } from "../files/mount-lines.ts";
import { widest } from "../home/columns.ts";
import { bold, dim } from "../home/paint.ts";
import type { Terminal } from "../terminal.ts";
import { askAsOwner } from "./ask.ts";
import { endsWithAgent } from "./in-agent.ts";
import { type OwnFlags, placeOf } from "./place.ts";

export interface StatusFlags extends OwnFlags {
  readonly link?: boolean;
}

/** The exit code is 1 when none runs. */
export async function showStatus(terminal: Terminal, flags: StatusFlags): Promise<number> {
  const home = placeOf(terminal, flags);
  const found = await findServer(home);
  if (found === undefined) {
    const { restingKernels } = await import("./resting-kernels.ts");
    const { kernels, starting } = await restingKernels(terminal, home);
    if (flags.json) {
      const told = starting === undefined ? {} : { starting };
      await printJson(terminal, { ok: true, running: false, ...told, home, kernels });
    } else {
      const lines = [
        starting === undefined
          ? `No server runs for ${home}. Start one with kumiko serve.`
          : `A server of ${home} is starting (process ${starting}). Ask again in a moment.`,
      ];
      if (kernels.length > 0) lines.push("", ...kernelLines(terminal, { kernels }));
      await terminal.print(`${lines.join("\n")}\n`);
    }
    return exitCode.different;
  }
  const status = (await askAsOwner(terminal, flags, found, "GET", "/status.json")) as Status;
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
  const { server } = status;
  const lines = [
    `${bold(terminal, found.url)}  ` +
      dim(
        terminal,
        `kumiko ${server.version}, process ${server.pid}, since ${moment(server.since)}`,
      ),
    ...(server.in_agent ? [endsWithAgent(server.pid)] : []),
    ...(link === undefined ? [] : [`page  ${link}`]),
    "",
    ...kernelLines(terminal, status),
    "",
    ...visitorLines(terminal, status, Date.now()),
  ];
  await terminal.print(`${lines.join("\n")}\n`);
  return exitCode.fine;
}

function kernelLines(terminal: Terminal, { kernels }: Pick<Status, "kernels">): string[] {
  const names = widest(kernels.map(({ kernel }) => kernel));
  const folders = widest(kernels.map(({ folder }) => folder ?? ""));
  return kernels.flatMap(({ kernel, folder, bytes, contexts, position, mounts }) => {
    const open =
      contexts === null
        ? "not open"
        : `${counted(contexts.length, "context")}, position ${position}`;
    return [
      `${bold(terminal, kernel.padEnd(names))}  ${(folder ?? "").padEnd(folders)}  ${dim(terminal, `${printedBytes(bytes)}, ${open}`)}`,
      ...mountLines(narrower(terminal), mounts ?? []).map((line) => `  ${line}`),
    ];
  });
}

/** For what is indented. */
function narrower(terminal: Terminal): Terminal {
  const { columns } = terminal;
  return columns === undefined ? terminal : { ...terminal, columns: columns - 2 };
}

function visitorLines(terminal: Terminal, { connections, clients }: Status, now: number): string[] {
  const rows = [
    ...connections.map(({ actor, kind, door, since, address }) => ({
      who: `${actor} (${kind})`,
      door: door.slice(1),
      what: `since ${moment(since)}, from ${address}`,
    })),
    ...clients.map(({ name, actor, kind, door, since, last_call: last, session }) => {
      const called = last === null ? "no call yet" : `last call ${ago(now - last)}`;
      const own = name === null ? [] : [name];
      return {
        who: `${actor} (${kind})`,
        door: door.slice(1),
        what: (session ? [...own, `since ${moment(since)}`, called] : [called]).join(", "),
      };
    }),
  ];
  if (rows.length === 0) return [dim(terminal, "nobody is connected")];
  const actors = widest(rows.map(({ who }) => who));
  const doors = widest(rows.map(({ door }) => door));
  return rows.map(
    ({ who, door, what }) => `${who.padEnd(actors)}  ${door.padEnd(doors)}  ${dim(terminal, what)}`,
  );
}

function ago(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s ago`;
  return seconds < 3600
    ? `${Math.floor(seconds / 60)} min ago`
    : `${Math.floor(seconds / 3600)} h ago`;
}

/** What makes links is loaded only for one. */
async function newLink(terminal: Terminal, flags: StatusFlags, url: string): Promise<string> {
  const { linkTo } = await import("./owner.ts");
  return linkTo(terminal, flags, url);
}
