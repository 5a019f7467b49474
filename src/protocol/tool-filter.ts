import * as z from "zod";

const names = z.array(z.string().min(1).max(64)).max(1000);

/** Which tools a kernel offers to everybody who comes in by a door. */
export const toolFilter = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("all") }),
  z.strictObject({ kind: z.literal("allow"), names }),
  z.strictObject({ kind: z.literal("deny"), names }),
]);
export type ToolFilter = z.infer<typeof toolFilter>;
