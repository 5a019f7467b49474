import { readFileSync } from "node:fs";

/** package.json stands two folders up from src/cli and from dist/cli alike. */
export function readVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return String(manifest.version);
}
