import type { Host } from "./host.ts";

export function serverInfo({ version }: Host): { name: string; title: string; version: string } {
  return { name: "kumiko", title: "Kumiko", version };
}
