import { type Command, InvalidArgumentError } from "commander";
import { mountingOptions } from "../files/mount-options.ts";
import type { Terminal } from "../terminal.ts";
import { type Finish, type VerbForm, verbsIn } from "../verbs-in.ts";
import type { ServeFlags } from "./serve-command.ts";
import type { StatusFlags } from "./status-command.ts";
import type { NewTokenFlags, RevokeFlags } from "./token-command.ts";

type Flags = ServeFlags & StatusFlags & NewTokenFlags & RevokeFlags;

/** Adds the verbs about the server of a home. */
export function addDoorVerbs(terminal: Terminal, program: Command, finish: Finish): void {
  const verb = verbsIn<Flags>(terminal, program, finish, ofServer);
  const serve = verb(
    "serve",
    "run the server, with a kernel for this folder; also without any verb",
    (flags) => import("./serve-command.ts").then((command) => command.serve(terminal, flags)),
  )
    .option("--port <n>", "the port (default: 5864, or any that is free)", portOf)
    .option("--host <address>", "the address to listen on (default: 127.0.0.1, this machine only)")
    .option("--allow-host <name>", "a further name it may be called by", collected, [])
    .option("--open", "open the page in a browser")
    .option("--log <level>", "silent, error, warn, info, debug or trace", "info");
  mountingOptions(serve);
  verb(
    "status [path]",
    "say which server runs, its kernels and who is connected; of a path, how the file stands, or those below the folder",
    (flags, path) =>
      path === ""
        ? import("./status-command.ts").then(({ showStatus }) => showStatus(terminal, flags))
        : import("../files/status-file.ts").then(({ showFileStatus }) =>
            showFileStatus(terminal, path, flags),
          ),
  ).option("--link", "also print a new link for the page");

  const group = program
    .command("token")
    .description("make, list and revoke tokens, with or without a server")
    .helpCommand(false);
  const token = verbsIn<Flags>(terminal, group, finish, ofServer);
  const load = () => import("./token-command.ts");
  token("new", "make a token and print it, once", (flags) =>
    load().then(({ newToken }) => newToken(terminal, flags)),
  )
    .option(
      "--for <actor>",
      "in whose name it acts: an agent's own, so that its work is not blamed on you (of --kind person: default yours)",
    )
    .option("--kind <kind>", "person, agent or service (default: agent)")
    .option("--scopes <names>", "read, write, admin, mint, act_as (default: read,write)", listed)
    .option("--kernels <ids>", "only for these kernels (default: all)", listed)
    .option("--expires <when>", "in 15m, 12h or 30d, or never (the default)")
    .option("--label <text>", "for you, to tell it from others");
  token("list", "list the tokens, without their secrets", (flags) =>
    load().then(({ listTokens }) => listTokens(terminal, flags)),
  );
  token("revoke <id>", "revoke a token and all it minted; its connections end", (flags, id) =>
    load().then(({ revokeToken }) => revokeToken(terminal, id, flags)),
  ).option("-y, --yes", "also the owner's own, and with it everything that hangs on it");
}

const ofServer: VerbForm = {
  options: (command) =>
    command
      .option(
        "--home <folder>",
        "the home folder (default: $KUMIKO_HOME, else the XDG data folder)",
      )
      .option("--json", "print one JSON object", false),
};

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port < 65_536) return port;
  throw new InvalidArgumentError(`--port takes a number from 0 to 65535, not "${text}".`);
}

function listed(text: string): string[] {
  return text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}

function collected(value: string, before: readonly string[]): string[] {
  return [...before, value];
}
