import * as z from "zod";

export const blockKind = z.enum([
  "text",
  "thinking",
  "tool_call",
  "tool_result",
  "file",
  "shell_output",
  "drift",
  "checkpoint",
  "error",
]);
export type BlockKind = z.infer<typeof blockKind>;

export const blockRole = z.enum(["user", "model", "system", "tool"]);
export type BlockRole = z.infer<typeof blockRole>;

/** A block begins pending, runs from its first write on, and ends as done or error. */
export const blockStatus = z.enum(["pending", "running", "done", "error"]);
export type BlockStatus = z.infer<typeof blockStatus>;

export const blockFlags = z.strictObject({
  excluded: z.boolean().optional().describe("left out of what models are given"),
  pinned: z.boolean().optional(),
  collapsed: z.boolean().optional(),
});
export type BlockFlags = z.infer<typeof blockFlags>;

/** What a client says about a block: a path, a language, a tool's name, anything else as JSON. */
export const blockMetadata = z.record(z.string().max(64), z.json());
export type BlockMetadata = z.infer<typeof blockMetadata>;

/** What a block is, apart from its text. */
export const blockState = z.strictObject({
  block: z.string(),
  context: z.string(),
  parent: z.string().nullable(),
  order: z.string().describe("sorts siblings"),
  kind: blockKind,
  role: blockRole,
  status: blockStatus,
  flags: blockFlags,
  metadata: blockMetadata,
  /** Who is writing it while it runs: when they are gone, it is closed as an error. */
  owner: z.string().nullable(),
  /** Under which lease the owner's process writes it: when that is gone, so is the owner. */
  lease: z.strictObject({ name: z.string(), token: z.int() }).nullable(),
  /** Of a file: at which versions it was made again where none was. */
  made: z.array(z.int()).readonly().optional(),
  created: z.int(),
});
export type BlockState = Readonly<z.infer<typeof blockState>>;
