import { damaged, KumikoError } from "../base/index.ts";

/** Something stored was found damaged. Told once per block and kind. */
export interface DamageReport {
  readonly block: string;
  /** A block that cannot be used any more, or only what makes reading it faster: the journal has it all. */
  readonly effect: "quarantined" | "slower";
  /** The kind of row, when the store could tell. */
  readonly table: string | undefined;
  readonly why: string;
}

/**
 * The blocks that cannot be read back. Each fails alone, always with the same typed error; nobody sees a
 * shorter or an empty text in its place.
 */
export class Quarantine {
  readonly #blocks = new Map<string, DamageReport>();
  readonly #slower = new Set<string>();
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

  put(block: string, error: KumikoError): KumikoError {
    const report: DamageReport = { block, effect: "quarantined", ...describe(error) };
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

function quarantined(report: DamageReport, cause?: KumikoError): KumikoError {
  const { block, table, why } = report;
  const where = table === undefined ? "" : ` in ${table}`;
  return new KumikoError(
    "quarantined",
    `${block} is quarantined: what is stored of it${where} is damaged (${why}). Everything else works. ` +
      "Run `kumiko doctor` to see what of it can still be read.",
    { block, table: table ?? null, why },
    { cause },
  );
}
