import * as z from "zod";

const offset = z.int().min(0);

/** Where somebody is and what they do, as they say it. Nothing of it is kept. */
export const presence = z.strictObject({
  block: z.string().max(120).optional().describe("where they are"),
  selection: z
    .strictObject({
      version: offset.describe("the version of the block that the offsets mean"),
      ranges: z
        .array(z.strictObject({ anchor: offset, head: offset }))
        .min(1)
        .max(64)
        .describe("UTF-16 offsets; a cursor has anchor and head at one place"),
    })
    .optional(),
  activity: z.string().max(200).optional().describe("what they do, for people"),
  name: z.string().max(64).optional().describe("how they want to be called"),
});
export type Presence = Readonly<z.output<typeof presence>>;

/** What others are told. The key and who it is are the server's word. */
export const presenceEntry = z.strictObject({
  key: z.string(),
  actor: z.string(),
  kind: z.enum(["person", "agent", "service"]),
  presence,
});
export type PresenceEntry = Readonly<z.output<typeof presenceEntry>>;

/** Those that are new or have changed, and those that are gone. */
export const presenceChange = z.strictObject({
  here: z.array(presenceEntry),
  gone: z.array(z.string()),
});
export type PresenceChange = Readonly<z.output<typeof presenceChange>>;
