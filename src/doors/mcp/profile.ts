import { KumikoError } from "../../base/index.ts";
import type { ToolFilter, ToolRegistry } from "../../tools/index.ts";

/**
 * What a model handles well without being told more: read, find, write, take back, decide what is in conflict. Twelve at
 * most, because each is in the model's window all the time: what is written by programs (a text that grows, its status)
 * is left to `all`.
 */
const core: readonly string[] = [
  "block_list",
  "block_read",
  "kernel_search",
  "block_create",
  "block_edit",
  "block_replace",
  "block_apply_patch",
  "block_undo",
  "file_list",
  "file_create",
  "file_status",
  "file_resolve",
];

/** `core`, `all`, or names with commas between them. */
export function toolProfile(registry: ToolRegistry, named = "core"): ToolFilter {
  if (named === "all") return { kind: "all" };
  if (named === "core") return { kind: "allow", names: core };
  const names = named
    .split(",")
    .map((name) => name.trim().replace(".", "_"))
    .filter((name) => name !== "");
  const known = registry.list().map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (names.length > 0 && unknown.length === 0) return { kind: "allow", names };
  throw new KumikoError(
    "unknown_tool",
    `${unknown.length > 0 ? `There is no tool ${unknown.join(", ")}` : "No tool is named"}: say core, all, or some of ${known.join(", ")}.`,
    { tools: known, unknown },
  );
}
