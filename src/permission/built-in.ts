import { compileGlob, type Glob, spelled } from "../base/index.ts";
import type { Level } from "./levels.ts";

/** Each with the word by which a rule names it. */
const SECRETS: readonly (readonly [pattern: string, word: string])[] = [
  [".env*", ".env"],
  ["*.pem", ".pem"],
  ["*.key", ".key"],
  ["*.p12", ".p12"],
  ["*.pfx", ".pfx"],
  ["id_rsa*", "id_rsa"],
  ["id_ed25519*", "id_ed25519"],
  ["id_ecdsa*", "id_ecdsa"],
  [".npmrc", ".npmrc"],
  [".netrc", ".netrc"],
  [".pgpass", ".pgpass"],
  [".pypirc", ".pypirc"],
  [".aws/", ".aws"],
  [".ssh/", ".ssh"],
  [".gnupg/", ".gnupg"],
  ["credentials", "credentials"],
  ["credentials.json", "credentials"],
  ["service-account*.json", "service-account"],
  ["*.kdbx", ".kdbx"],
  [".git-credentials", ".git-credentials"],
];
/** They tell which names a `.env` has, and are there to be read. */
const NOT_SECRET = "{.env.example,.env.sample,.env.template}";

/** What is kept from rules that only happen to match it: a rule opens it when its pattern holds the word. */
export interface Protection {
  readonly pattern: string;
  readonly level: Level;
  readonly word: string;
  matches(path: string): boolean;
}

/** What protects the files of a folder. */
export class Protections {
  readonly all: readonly Protection[];
  readonly #ignoreCase: boolean;
  /** What is protected has one of the words in its path: most paths need no closer look. */
  readonly #words: RegExp;

  constructor(ignoreCase: boolean) {
    this.#ignoreCase = ignoreCase;
    const harmless = compileGlob(NOT_SECRET, { ignoreCase });
    const named = (pattern: string, word: string, level: Level): Protection => {
      const glob = compileGlob(pattern, { ignoreCase });
      const matches =
        pattern === ".env*"
          ? (path: string) => hasName(path, glob, harmless)
          : (path: string) => glob.matches(path);
      return { pattern, level, word, matches };
    };
    this.all = [
      named("kumiko.toml", "kumiko.toml", "human"),
      ...SECRETS.map(([pattern, word]) => named(pattern, word, "secret")),
      named(".git", ".git", "read_only"),
    ];
    const words = new Set(this.all.map(({ word }) => word.replaceAll(".", "\\.")));
    this.#words = new RegExp([...words].join("|"));
  }

  of(path: string): readonly Protection[] {
    if (!this.#words.test(spelled(path, this.#ignoreCase))) return NONE;
    return this.all.filter((each) => each.matches(path));
  }
}

const NONE: readonly Protection[] = [];

/** The rules behind all others, in their order. */
export interface Default {
  readonly pattern: string;
  readonly level: Level;
  matches(onDisk: string): boolean;
}

export function defaults(isIgnored: (path: string) => boolean): readonly Default[] {
  return [
    { pattern: ".gitignore, .kumikoignore", level: "read_only", matches: isIgnored },
    { pattern: "**", level: "read_write", matches: () => true },
  ];
}

/** Name by name: an example below a secret folder is secret, and so is a secret below an example. */
function hasName(path: string, glob: Glob, except: Glob): boolean {
  if (!glob.matches(path)) return false;
  return path.split("/").some((name) => glob.matches(name) && !except.matches(name));
}
