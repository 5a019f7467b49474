import { damaged, KumikoError } from "../base/index.ts";

/** Something stored was found damaged. Told once per block and kind. */
export interface DamageReport {
  /** Null when it is part of no block: a setting, a context's entry. */
  readonly block: string | null;
  /**
   * A block that cannot be used any more; only what makes reading it faster: the journal has it all; or
   * something that is part of no text.
   */
  readonly effect: "quarantined" | "slower" | "other";
  /** The kind of row, when the store could tell. */
  readonly table: string | undefined;
  readonly why: string;
}

/**
 * The blocks that cannot be read back. Each fails alone, always with the same typed error; nobody sees a
 * shorter or an empty text in its place.
 */
export class Quarantine {
  readonly #blocks = new Map<string, DamageReport & { readonly block: string }>();
  readonly #slower = new Set<string>();
  readonly #others = new Set<string>();
  readonly #report: (report: DamageReport) => void;

  constructor(report: (report: DamageReport) => void) {
    this.#report = report;
  }

  why(block: string): string | undefined {
    return this.#blocks.get(block)?.why;
  }

  check(block: string): void {
    const report = this.#blocks.get(block);
    if (report !== undefined) throw quarantined(report);
  }

  /** Reads what is stored of one block; damage takes that block and nothing else. */
  async reading<Result>(block: string, read: () => Promise<Result>): Promise<Result> {
    this.check(block);
    try {
      return await read();
    } catch (error) {
      if (!isDamage(error)) throw error;
      throw this.put(block, error);
    }
  }

  /** What only spares work may be damaged: it is reported and done without. */
  async cached<Result>(
    block: string,
    read: () => Promise<Result | undefined>,
  ): Promise<Result | undefined> {
    try {
      return await read();
    } catch (error) {
      if (!isDamage(error)) throw error;
      const { table, why } = describe(error);
      const key = `${block} ${table ?? ""}`;
      if (!this.#slower.has(key)) {
        this.#slower.add(key);
        this.#report({ block, effect: "slower", table, why });
      }
      return undefined;
    }
  }

  /** Reports what is damaged and part of no block; whoever found it goes on without it. */
  tell(error: KumikoError): void {
    const { table, why } = describe(error);
    if (this.#others.has(why)) return;
    this.#others.add(why);
    this.#report({ block: null, effect: "other", table, why });
  }

  put(block: string, error: KumikoError): KumikoError {
    const report = { block, effect: "quarantined", ...describe(error) } as const;
    if (!this.#blocks.has(block)) {
      this.#blocks.set(block, report);
      this.#report(report);
    }
    return quarantined(report, error);
  }
}

/** Whether stored bytes cannot be read: they are damaged, or of a version of Kumiko that is not this one. */
export function isDamage(error: unknown): error is KumikoError {
  if (!(error instanceof KumikoError)) return false;
  return error.code === "damaged" || error.code === "unsupported_format";
}

/** Bytes whose hash is right can still be nonsense: whatever decoding them throws is damage. */
export function decoding<Result>(what: string, decode: () => Result): Result {
  try {
    return decode();
  } catch (error) {
    if (error instanceof KumikoError) throw error;
    const cause = error instanceof Error ? error : new Error(String(error));
    throw Object.assign(damaged(`${what} cannot be decoded (${cause.message})`), { cause });
  }
}

function describe({ facts, message }: KumikoError): Pick<DamageReport, "table" | "why"> {
  const { table, key, why } = facts;
  const row = typeof key === "string" ? `${key}: ` : "";
  return {
    table: typeof table === "string" ? table : undefined,
    why: typeof why === "string" ? `${row}${why}` : message,
  };
}

function quarantined(
  { block, table, why }: Omit<DamageReport, "block"> & { readonly block: string },
  cause?: KumikoError,
): KumikoError {
  const where = table === undefined ? "" : ` in ${table}`;
  return new KumikoError(
    "quarantined",
    `${block} is quarantined: what is stored of it${where} is damaged (${why}). Everything else works. ` +
      "Run `kumiko doctor` to see what of it can still be read.",
    { block, table: table ?? null, why },
    { cause },
  );
}
