import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, KumikoError, type Timers } from "../../base/index.ts";
import type { Scope, TokenInfo, TokenRequest } from "../../protocol/index.ts";
import { changeSmallFile, readSmallFile } from "../locked-file.ts";
import type { Principal } from "../principal.ts";
import { type Grant, grantOf } from "./minting.ts";
import { newSecret, parseToken, proves } from "./secret.ts";
import { familyOf, infoOf, readTokens, type TokenRecord, writtenTokens } from "./token-file.ts";

export interface TokenStoreOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Told when the file cannot be read any more; whoever is in is then put out. */
  readonly onTrouble?: ((error: unknown) => void) | undefined;
}

/** A token that was just made: the secret is shown here and never again. */
export interface Minted {
  readonly token: string;
  readonly info: TokenInfo;
}

const EVERYTHING: readonly Scope[] = ["read", "write", "admin", "mint", "act_as"];
/** How long it may take until a change by another process counts, or an expiry is noticed: half of what is promised. */
const LOOK = 500;
const DAY = 86_400_000;
const LINK = DAY / 24;
const SESSION = 30 * DAY;
/** How long an expired token is still listed. */
const REMEMBERED = 30 * DAY;
const TOKENS = 10_000;

interface Known {
  readonly record: TokenRecord;
  readonly principal: Principal;
  readonly controller: AbortController;
}

/**
 * The tokens of a home: `tokens.json`, hashes only. Any process may change the file, each alone; those that hold it
 * open look at it twice a second, and at once for a token they do not know.
 */
export class TokenStore implements Disposable {
  readonly file: string;
  readonly #options: TokenStoreOptions;
  #known = new Map<string, Known>();
  #seen = "";
  #looking: Promise<void> | undefined;
  #timer: { cancel(): void } | undefined;
  #disposed = false;

  private constructor(home: string, options: TokenStoreOptions) {
    this.file = join(home, "tokens.json");
    this.#options = options;
  }

  static async open(home: string, options: TokenStoreOptions): Promise<TokenStore> {
    const store = new TokenStore(home, options);
    await store.#read();
    store.#watch();
    return store;
  }

  get size(): number {
    return this.#known.size;
  }

  /** Who a token is, or `unauthorised`; which part of it was wrong is not told. */
  async authenticate(token: string): Promise<Principal> {
    const known = await this.#find(token);
    if (known === undefined || known.record.once) throw unauthorised();
    return known.principal;
  }

  /** A token of whoever owns the home: everything, for good, minted by nobody. */
  async mintOwner(actor: string): Promise<Minted> {
    const grant: Grant = {
      kind: "person",
      actor,
      scopes: [...EVERYTHING],
      kernels: null,
      label: "owner",
      expires: null,
    };
    return this.#add(() => ({ ...grant, minted_by: null, once: false }));
  }

  async mint(by: Principal, request: TokenRequest): Promise<Minted> {
    return this.#add((tokens) => {
      const { expires } = ownRecord(tokens, by);
      const grant = grantOf(by, expires, request, this.#options.clock);
      return { ...grant, minted_by: by.token, once: false };
    });
  }

  /** For a link: good for an hour and one exchange, and nothing else. */
  async mintLink(by: Principal, label: string): Promise<Minted> {
    return this.#add((tokens) => {
      const own = ownRecord(tokens, by);
      return {
        ...rightsOf(own),
        label,
        expires: this.#until(own, LINK),
        minted_by: own.id,
        once: true,
      };
    });
  }

  /** Gives a session with a link's rights for the link, which is used up: nothing else is exchanged. */
  async exchange(token: string): Promise<Minted> {
    const known = await this.#find(token);
    if (known === undefined || !known.record.once) throw unauthorised();
    const { id } = known.record;
    return this.#add((tokens) => {
      const own = tokens.find((each) => each.id === id);
      if (own === undefined) throw unauthorised();
      tokens.splice(tokens.indexOf(own), 1);
      const parent = tokens.find((each) => each.id === own.minted_by);
      if (parent === undefined) throw unauthorised();
      return {
        ...rightsOf(own),
        label: "page",
        expires: this.#until(parent, SESSION),
        minted_by: parent.id,
        once: false,
      };
    });
  }

  /** Itself and what it minted; all of them with the scope `admin` for all kernels. */
  list(by: Principal): TokenInfo[] {
    const records = [...this.#known.values()].map(({ record }) => record);
    const family = familyOf(records, by.token);
    const all = seesAll(by);
    return records.filter(({ id }) => all || family.has(id)).map(infoOf);
  }

  /** Revokes a token and all it minted, and gives their ids. Live connections end. */
  async revoke(by: Principal, id: string): Promise<string[]> {
    const gone = await this.#change((tokens) => {
      ownRecord(tokens, by);
      const mine = familyOf(tokens, by.token);
      if (!tokens.some((token) => token.id === id) || !(seesAll(by) || mine.has(id)))
        throw unknownToken(id);
      const family = familyOf(tokens, id);
      return { tokens: tokens.filter((token) => !family.has(token.id)), result: [...family] };
    });
    return gone;
  }

  /** Reads the file if it is another one than last time. Looks that are asked for meanwhile begin afterwards. */
  async look(): Promise<void> {
    const before = this.#looking;
    const looking = (async () => {
      await before?.catch(() => undefined);
      if ((await markOf(this.file)) !== this.#seen) await this.#read();
    })();
    this.#looking = looking;
    try {
      await looking;
    } finally {
      if (this.#looking === looking) this.#looking = undefined;
    }
  }

  [Symbol.dispose](): void {
    this.#disposed = true;
    this.#timer?.cancel();
  }

  async #find(token: string): Promise<Known | undefined> {
    const parsed = parseToken(token);
    if (parsed === undefined) return undefined;
    // Whoever is not known yet is told nothing of what is wrong here.
    if (!this.#known.has(parsed.id)) await this.look().catch((error) => this.#trouble(error));
    const known = this.#known.get(parsed.id);
    if (!proves(parsed.secret, known?.record.hash) || known === undefined) return undefined;
    if (this.#expired(known.record)) {
      known.controller.abort(ended(known.record.id, "has expired"));
      return undefined;
    }
    return known.principal.signal.aborted ? undefined : known;
  }

  async #add(
    grant: (tokens: TokenRecord[]) => Grant & Pick<TokenInfo, "minted_by" | "once">,
  ): Promise<Minted> {
    const now = this.#options.clock.now();
    return this.#change((all) => {
      const tokens = all.filter((each) => !forgotten(each, now));
      const { id, hash, token } = newSecret();
      const record: TokenRecord = { ...grant(tokens), id, hash, created: now };
      if (tokens.length >= TOKENS) throw tooManyTokens();
      return { tokens: [...tokens, record], result: { token, info: infoOf(record) } };
    });
  }

  async #change<Result>(
    change: (tokens: TokenRecord[]) => { tokens: TokenRecord[]; result: Result },
  ): Promise<Result> {
    const result = await changeSmallFile(this.file, (text) => {
      const { tokens, result: given } = change(readTokens(this.file, text));
      return { text: writtenTokens(tokens), result: given };
    });
    await this.look();
    return result;
  }

  async #read(): Promise<void> {
    // Taken first: a file that is replaced meanwhile is read again.
    const mark = await markOf(this.file);
    const text = await readSmallFile(this.file);
    let records: TokenRecord[];
    try {
      records = readTokens(this.file, text);
    } catch (error) {
      // Nobody can be told from anybody else.
      this.#replace([], mark);
      throw error;
    }
    this.#replace(records, mark);
  }

  #replace(records: readonly TokenRecord[], mark: string): void {
    const before = this.#known;
    this.#known = new Map();
    this.#seen = mark;
    for (const record of records) {
      const known = before.get(record.id);
      const same = known !== undefined && JSON.stringify(known.record) === JSON.stringify(record);
      this.#known.set(record.id, same ? known : knownOf(record));
    }
    for (const [id, known] of before) {
      if (this.#known.get(id) !== known) known.controller.abort(ended(id, "was revoked"));
    }
    this.#expire();
  }

  #watch(): void {
    this.#timer = this.#options.timers.after(LOOK, () => {
      void this.#lookAgain();
    });
  }

  async #lookAgain(): Promise<void> {
    await this.look().catch((error: unknown) => this.#trouble(error));
    this.#expire();
    if (!this.#disposed) this.#watch();
  }

  #trouble(error: unknown): void {
    this.#options.onTrouble?.(error);
  }

  #expire(): void {
    for (const { record, controller } of this.#known.values()) {
      if (this.#expired(record) && !controller.signal.aborted)
        controller.abort(ended(record.id, "has expired"));
    }
  }

  #expired({ expires }: TokenRecord): boolean {
    return expires !== null && expires <= this.#options.clock.now();
  }

  #until({ expires }: TokenRecord, milliseconds: number): number {
    return Math.min(this.#options.clock.now() + milliseconds, expires ?? Infinity);
  }
}

function knownOf(record: TokenRecord): Known {
  const controller = new AbortController();
  const principal: Principal = Object.freeze({
    token: record.id,
    kind: record.kind,
    actor: record.actor,
    scopes: new Set(record.scopes),
    kernels: record.kernels === null ? undefined : Object.freeze([...record.kernels]),
    signal: controller.signal,
  });
  return { record, principal, controller };
}

/** The record as it is in the file now: whoever was just revoked does nothing more. */
function ownRecord(tokens: readonly TokenRecord[], by: Principal): TokenRecord {
  by.signal.throwIfAborted();
  const own = tokens.find(({ id }) => id === by.token);
  if (own === undefined) throw ended(by.token, "was revoked");
  return own;
}

function rightsOf(record: TokenRecord): Pick<TokenInfo, "kind" | "actor" | "scopes" | "kernels"> {
  const { kind, actor, scopes, kernels } = record;
  return { kind, actor, scopes, kernels };
}

/** Whether it need not even be listed any more: links as soon as they have expired, all others later. */
function forgotten({ expires, once }: TokenRecord, now: number): boolean {
  return expires !== null && expires <= now - (once ? 0 : REMEMBERED);
}

function seesAll(by: Principal): boolean {
  return by.scopes.has("admin") && by.kernels === undefined;
}

/** Changes with every replacement: a new file, or another time in nanoseconds. */
async function markOf(file: string): Promise<string> {
  try {
    const { ino, mtimeNs, size } = await stat(file, { bigint: true });
    return `${ino} ${mtimeNs} ${size}`;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "none";
    throw error;
  }
}

function unauthorised(): KumikoError {
  return new KumikoError(
    "unauthorised",
    "This needs a valid token. `kumiko token new` makes one; `kumiko status --link` prints a new link for the page.",
    {},
  );
}

function ended(id: string, how: string): KumikoError {
  return new KumikoError("unauthorised", `The token ${id} ${how}.`, { token: id });
}

function unknownToken(id: string): KumikoError {
  return new KumikoError(
    "unknown_token",
    `There is no token ${id} that you could revoke; list them first.`,
    { token: id },
  );
}

function tooManyTokens(): KumikoError {
  return new KumikoError("too_many", `There are ${TOKENS} tokens already; revoke some first.`, {
    limit: TOKENS,
  });
}
