import * as z from "zod";

export const tokenKind = z.enum(["person", "agent", "service"]);
export type TokenKind = z.output<typeof tokenKind>;

/** `act_as`: calls, and mints, in the name of other actors. */
export const scope = z.enum(["read", "write", "admin", "mint", "act_as"]);
export type Scope = z.output<typeof scope>;

const part = z.string().regex(/^[a-z0-9-]{1,32}$/);
const label = z.string().max(200);
/** Milliseconds since 1970. */
const moment = z.int().min(0);

/** What may be asked for: at most what the minting token has. Kernels and expiry that are left out are as it has them. */
export const tokenRequest = z.strictObject({
  kind: tokenKind.optional().describe("by default agent for a person's token, else its own kind"),
  actor: part.optional().describe("in whose name it acts; another than one's own needs act_as"),
  scopes: z.array(scope).min(1).max(8).optional().describe("by default read and write"),
  kernels: z.array(part).min(1).max(100).optional().describe("the kernels it is for"),
  label: label.optional().describe("for people, to tell one from another"),
  expires: moment.optional().describe("in milliseconds since 1970"),
});
export type TokenRequest = z.input<typeof tokenRequest>;

/** A token as lists show it: everything but the secret. */
export const tokenInfo = z.strictObject({
  id: z.string().regex(/^[a-z0-9]{12}$/),
  kind: tokenKind,
  actor: part,
  scopes: z.array(scope),
  kernels: z.array(part).nullable(),
  label,
  created: moment,
  expires: moment.nullable(),
  minted_by: z.string().nullable(),
  once: z.boolean().describe("good for one exchange at /session and nothing else"),
});
export type TokenInfo = z.output<typeof tokenInfo>;
