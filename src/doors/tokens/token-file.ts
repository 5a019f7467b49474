import * as z from "zod";
import { KumikoError } from "../../base/index.ts";
import { type TokenInfo, tokenInfo } from "../../protocol/index.ts";

const recorded = tokenInfo.extend({ hash: z.string().regex(/^[0-9a-f]{64}$/) });
const contents = z.strictObject({ format: z.literal(1), tokens: z.array(recorded) });

/** A token as it is kept: its secret only as SHA-256. */
export type TokenRecord = z.output<typeof recorded>;

export function readTokens(file: string, text: string | undefined): TokenRecord[] {
  if (text === undefined) return [];
  const parsed = contents.safeParse(jsonOf(text));
  if (parsed.success) return parsed.data.tokens;
  throw new KumikoError(
    "damaged",
    `${file} is not a list of tokens that this version can read. While it is so, nobody is let in; put back a copy, ` +
      "or remove the file and mint tokens anew.",
    { file, table: null, block: null },
  );
}

export function writtenTokens(tokens: readonly TokenRecord[]): string {
  return `${JSON.stringify({ format: 1, tokens }, null, 2)}\n`;
}

/** Everything but the hash. */
export function infoOf(record: TokenRecord): TokenInfo {
  const { id, kind, actor, scopes, kernels, label, created, expires, minted_by, once } = record;
  return { id, kind, actor, scopes, kernels, label, created, expires, minted_by, once };
}

/** A token, those it minted, those they minted. */
export function familyOf(
  tokens: readonly Pick<TokenInfo, "id" | "minted_by">[],
  id: string,
): Set<string> {
  const family = new Set([id]);
  // Whoever mints is there before what it mints, but a file may list them in any order.
  for (let before = 0; before < family.size;) {
    before = family.size;
    for (const token of tokens)
      if (token.minted_by !== null && family.has(token.minted_by)) family.add(token.id);
  }
  return family;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
