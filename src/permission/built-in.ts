import { compileGlob, type Glob } from "../base/index.ts";
import type { Level } from "./levels.ts";

const SECRETS = [
  ".env",
  ".env.*",
  "*.pem",
  "*.key",
  "*.p12",
  "*.pfx",
  "id_rsa*",
  "id_ed25519*",
  "id_ecdsa*",
  ".npmrc",
  ".netrc",
  ".pypirc",
  ".aws/",
  ".ssh/",
  ".gnupg/",
  "credentials",
  "credentials.json",
  "service-account*.json",
  "*.kdbx",
  ".git-credentials",
];
const NOT_SECRET = "{.env.example,.env.sample,.env.template}";

export interface BuiltIn {
  readonly pattern: string;
  readonly level: Level;
  matches(path: string, onDisk: string): boolean;
}

/** The rules behind those of the file, in their order: secrets go before what is ignored. */
export function builtIns(ignoreCase: boolean, isIgnored: (path: string) => boolean): BuiltIn[] {
  const harmless = compileGlob(NOT_SECRET, { ignoreCase });
  const secrets = SECRETS.map((pattern): BuiltIn => {
    const glob = compileGlob(pattern, { ignoreCase });
    const isSecret =
      pattern === ".env.*"
        ? (path: string) => hasName(path, glob, harmless)
        : (path: string) => glob.matches(path);
    return { pattern, level: "secret", matches: isSecret };
  });
  const rules = compileGlob("kumiko.toml", { ignoreCase });
  const git = compileGlob(".git", { ignoreCase });
  return [
    { pattern: rules.pattern, level: "human", matches: (path) => rules.matches(path) },
    ...secrets,
    { pattern: git.pattern, level: "read_only", matches: (path) => git.matches(path) },
    {
      pattern: ".gitignore, .kumikoignore",
      level: "read_only",
      matches: (_path, onDisk) => isIgnored(onDisk),
    },
    { pattern: "**", level: "read_write", matches: () => true },
  ];
}

/** Name by name: an example below a secret folder is secret, and so is a secret below an example. */
function hasName(path: string, glob: Glob, except: Glob): boolean {
  if (!glob.matches(path)) return false;
  return path.split("/").some((name) => glob.matches(name) && !except.matches(name));
}
