import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type RunningServer, startServer } from "../../src/app/server.ts";
import { connect, type KumikoClient } from "../../src/client/index.ts";
import type { Kernel } from "../../src/kernel/index.ts";
import { Mounts } from "../../src/files/index.ts";
import type { Scope } from "../../src/protocol/index.ts";
import { answerOf, modern, modernHeaders, type RpcAnswer } from "./mcp.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { memory } from "./ways-out.ts";

export const kinds = ["person", "agent", "service"] as const;
export type Kind = (typeof kinds)[number];
/** In whose name each acts. */
export const actors = { person: "bea", agent: "claude", service: "ci" } as const;

/**
 * What each level must say to an agent, written down by hand, for read, append, create, change and delete. y: allow,
 * n: deny, h: ask a person, p: ask the one whose agent it is.
 */
const said = {
  secret: "hhhhn",
  read_only: "ynnnn",
  partner: "ypppn",
  human: "yhhhh",
  append: "yyynn",
  read_write: "yyyyh",
  admin: "yyyyy",
} as const;
type Level = keyof typeof said;
type Letter = "y" | "n" | "h" | "p";

/** What is done to a file by any door. */
export type Act =
  | "read"
  | "append"
  | "create"
  | "change"
  | "delete"
  | "move"
  | "resolve"
  | "announce";

/** What an act is, in the words of the rules: a change shows text, and so does a file that is moved elsewhere. */
const needs: { readonly [act in Act]: readonly string[] } = {
  read: ["read"],
  append: ["append"],
  create: ["create"],
  change: ["change", "read"],
  delete: ["delete"],
  move: ["delete", "read"],
  resolve: ["change", "read"],
  announce: [],
};

export interface GateRule {
  /** The folder that it is for. */
  readonly folder: string;
  readonly level: Level;
  readonly escalate: readonly string[];
}

/** Every level with nothing escalated, each operation, and all of them. */
const escalations: readonly (readonly string[])[] = [
  [],
  ["read"],
  ["append"],
  ["change"],
  ["delete"],
  ["read", "append", "change", "delete"],
];
export const gateRules: readonly GateRule[] = (Object.keys(said) as Level[]).flatMap((level) =>
  escalations.map((escalate, at) => ({
    folder: `${level.replace("_", "-")}-${at}`,
    level,
    escalate,
  })),
);

export function expected({ level, escalate }: GateRule, act: Act, kind: Kind): Letter {
  const asks = level === "partner" ? "p" : "h";
  const letters = needs[act].map((operation) => {
    if (escalate.includes(operation === "create" ? "append" : operation)) return asks;
    return said[level][["read", "append", "create", "change", "delete"].indexOf(operation)];
  });
  if (letters.includes("n")) return "n";
  return letters.includes(asks) && kind !== "person" ? asks : "y";
}

/** The text of a file that is in no other. */
export const canary = (name: string): string => `canary-${name}-end`;

/** A folder with a rule for every level and escalation, and a server with all its doors over it. */
export class GateHouse implements AsyncDisposable {
  readonly folder: string;
  readonly place: string;
  readonly #owned = new AsyncDisposableStack();
  #server!: RunningServer;
  #kernel!: Kernel;
  readonly #tokens = new Map<Kind, string>();
  readonly #clients = new Map<Kind, KumikoClient>();

  private constructor(place: string) {
    this.place = join(place, "home");
    this.folder = join(place, "project");
  }

  /** The files are there before anybody watches. */
  static async open(files: readonly string[], moreRules = ""): Promise<GateHouse> {
    await using opening = new AsyncDisposableStack();
    const { path } = opening.use(temporaryFolder(memory()));
    const house = new GateHouse(path);
    const rules = gateRules.map(
      ({ folder, level, escalate }) =>
        `[[rule]]\npath = "${folder}/**"\nlevel = "${level}"\nescalate = ${JSON.stringify(escalate)}\n`,
    );
    const admin = '[[rule]]\npath = "admin/**"\nlevel = "admin"\n';
    house.write("kumiko.toml", [...rules, admin, moreRules].join("\n"));
    for (const file of files) house.write(file, textOf(file));
    await house.#start(opening);
    house.#owned.use(opening.move());
    return house;
  }

  async #start(owned: AsyncDisposableStack): Promise<void> {
    const { place: home, folder } = this;
    const options = { home, folder, actor: "ann", callsPerSecond: 1_000_000 };
    this.#server = owned.use(await startServer(options));
    const { hall, ownerToken } = this.#server;
    const owner = await hall.tokens.authenticate(ownerToken);
    this.#kernel = await hall.world.open(this.id);
    await Mounts.of(this.#kernel).watched();
    const scopes: Scope[] = ["read", "write", "admin"];
    for (const kind of kinds) {
      const request = { kind, actor: actors[kind], scopes };
      this.#tokens.set(kind, (await hall.tokens.mint(owner, request)).token);
      this.#clients.set(
        kind,
        owned.use(connect({ url: this.#server.url, token: this.#tokens.get(kind)! })),
      );
    }
  }

  get id(): string {
    return this.#server.kernel!;
  }

  get url(): string {
    return this.#server.url;
  }

  get kernel(): Kernel {
    return this.#kernel;
  }

  get mounts(): Mounts {
    return Mounts.of(this.#kernel);
  }

  client(kind: Kind) {
    return this.#clients.get(kind)!.kernel(this.id);
  }

  token(kind: Kind): string {
    return this.#tokens.get(kind)!;
  }

  /** One request of MCP. */
  async mcp(kind: Kind, method: string, params: { [name: string]: unknown }): Promise<RpcAnswer> {
    const response = await fetch(`${this.url}/mcp`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${this.token(kind)}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "kumiko-kernel": this.id,
        "kumiko-tools": "all",
        ...modernHeaders(method, params),
      },
      body: JSON.stringify(modern(1, method, params)),
    });
    return answerOf(response);
  }

  /** The block of a file, whoever may read it. */
  async block(path: string): Promise<string> {
    return (await this.mounts.first().source.load(path)).block;
  }

  path(path: string): string {
    return join(this.folder, path);
  }

  /** At rest: nobody waits for more of it. */
  write(path: string, text: string): void {
    mkdirSync(dirname(this.path(path)), { recursive: true });
    writeFileSync(this.path(path), text);
    utimesSync(this.path(path), 1_000, 1_000);
  }

  read(path: string): string {
    return readFileSync(this.path(path), "utf8");
  }

  /** The same, or nothing where no file is. */
  found(path: string): string | undefined {
    return existsSync(this.path(path)) ? this.read(path) : undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}

export function textOf(path: string): string {
  return `one\ntwo\nthree\n${canary(path)}\n`;
}
