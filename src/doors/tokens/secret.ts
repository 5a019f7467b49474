import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** `kumiko_<id>_<secret>`: 60 random bits to find it by, 256 to prove it. */
const TOKEN = /^kumiko_([a-z0-9]{12})_([A-Za-z0-9_-]{43})$/;
/** Wherever it stands, and however it was cut. */
const ANYWHERE = /kumiko_([a-z0-9]{12})_[A-Za-z0-9_-]+/g;
const LETTERS = "abcdefghijkmnpqrstuvwxyz23456789";

interface Secret {
  readonly id: string;
  readonly hash: string;
  /** Shown once, kept nowhere. */
  readonly token: string;
}

export function newSecret(): Secret {
  const id = Array.from(randomBytes(12), (byte) => LETTERS[byte % LETTERS.length]).join("");
  const secret = randomBytes(32).toString("base64url");
  return { id, hash: hashOf(secret), token: `kumiko_${id}_${secret}` };
}

export function parseToken(token: string): { id: string; secret: string } | undefined {
  const match = TOKEN.exec(token);
  return match === null ? undefined : { id: match[1]!, secret: match[2]! };
}

/** Takes as long whether a token is unknown, almost right or right. */
export function proves(secret: string, hash: string | undefined): boolean {
  const given = createHash("sha256").update(secret).digest();
  const kept = Buffer.from(hash ?? "0".repeat(64), "hex");
  return timingSafeEqual(given, kept) && hash !== undefined;
}

/** What may be written down of a text that may hold tokens: their ids. */
export function withoutSecrets(text: string): string {
  return text.includes("kumiko_") ? text.replaceAll(ANYWHERE, "kumiko_$1_…") : text;
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
