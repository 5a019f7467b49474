import type { Source } from "./source.ts";

/** A tag that is longer is text: nobody waits for its end any more. */
const LONGEST_TAG = 16_384;
/** How far a tag may go on behind a `<` in one of its values, so that hostile text costs linear time. */
const BEHIND_LESS = 1_024;

/** Letters and underscores begin a name; digits, dots, colons and hyphens only continue one. */
const STARTS = 1;
const CONTINUES = 2;
const SPACE = 3;
const kinds = new Uint8Array(128);
for (const char of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_") {
  kinds[char.charCodeAt(0)] = STARTS;
}
for (const char of "0123456789.:-") kinds[char.charCodeAt(0)] = CONTINUES;
for (const char of " \t\r\n") kinds[char.charCodeAt(0)] = SPACE;

const [QUOTE, APOSTROPHE, SLASH, LESS, EQUALS, GREATER, BANG] = [34, 39, 47, 60, 61, 62, 33];

/** What a `<` turned out to begin; `more`: it cannot be known yet. */
export type Scanned = "more" | "text" | "open" | "empty" | "close" | "comment" | "cdata";

/** Numbers, because a scan branches on them at every character. */
const AT_START = 0;
const AT_NAME = 1;
const AT_ATTRIBUTES = 2;
const AT_ATTRIBUTE = 3;
const AT_AFTER_ATTRIBUTE = 4;
const AT_BEFORE_VALUE = 5;
const AT_QUOTED = 6;
const AT_AFTER_VALUE = 7;
const AT_BARE = 8;
const AT_BARE_SLASH = 9;
const AT_SLASH = 10;
const AT_CLOSE_START = 11;
const AT_CLOSE_NAME = 12;
const AT_CLOSE_SPACE = 13;
const AT_BANG = 14;

/**
 * Reads on from a `<`, character by character, over as many pieces of text as it takes. Whether it is
 * a tag depends on the characters alone, never on where the pieces end.
 */
export class TagScan {
  /** Length of what was read, from the `<` on; of the whole tag once it is known. */
  length = 0;
  /** Where the name ends, from the `<` on. */
  nameEnd = 0;
  #state = AT_START;
  #quote = 0;
  /** Where in a value the first `<` stood. */
  #less = 0;

  reset(): void {
    this.length = 1;
    this.#state = AT_START;
    this.#less = 0;
  }

  /** Goes on with what was added to a source; the characters before it are not looked at again. */
  read({ text, added, at }: Source): Scanned {
    const start = text.length - added.length;
    // Looking at a character of the whole would copy all of it, piece after piece.
    const isInAdded = at + this.length >= start && this.#state !== AT_BANG;
    const scanned = isInAdded ? this.#run(added, at - start) : this.#run(text, at);
    return scanned === "again" ? (this.#run(text, at) as Scanned) : scanned;
  }

  /** `from` is where in `text` the `<` stands, or stood before it. */
  #run(text: string, from: number): Scanned | "again" {
    let state = this.#state;
    let at = from + this.length;
    const limit = Math.min(
      text.length,
      from + LONGEST_TAG,
      this.#less === 0 ? Infinity : from + this.#less + BEHIND_LESS,
    );
    while (at < limit) {
      const code = text.charCodeAt(at);
      const kind = code < 128 ? kinds[code]! : STARTS;
      switch (state) {
        case AT_NAME:
          if (kind === STARTS || kind === CONTINUES) break;
          this.nameEnd = at - from;
          if (code === GREATER) return this.#found("open", at - from);
          if (kind === SPACE) state = AT_ATTRIBUTES;
          else if (code === SLASH) state = AT_SLASH;
          else return "text";
          break;
        case AT_START:
          if (kind === STARTS) state = AT_NAME;
          else if (code === SLASH) state = AT_CLOSE_START;
          else if (code === BANG) state = AT_BANG;
          else return "text";
          break;
        case AT_CLOSE_NAME:
          if (kind === STARTS || kind === CONTINUES) break;
          this.nameEnd = at - from;
          if (code === GREATER) return this.#found("close", at - from);
          if (kind !== SPACE) return "text";
          state = AT_CLOSE_SPACE;
          break;
        case AT_ATTRIBUTES:
          if (kind === SPACE) break;
          if (kind === STARTS) state = AT_ATTRIBUTE;
          else if (code === GREATER) return this.#found("open", at - from);
          else if (code === SLASH) state = AT_SLASH;
          else return "text";
          break;
        case AT_ATTRIBUTE:
          if (kind === STARTS || kind === CONTINUES) break;
          if (code === EQUALS) state = AT_BEFORE_VALUE;
          else if (kind === SPACE) state = AT_AFTER_ATTRIBUTE;
          else if (code === GREATER) return this.#found("open", at - from);
          else if (code === SLASH) state = AT_SLASH;
          else return "text";
          break;
        case AT_AFTER_ATTRIBUTE:
          if (kind === SPACE) break;
          if (code === EQUALS) state = AT_BEFORE_VALUE;
          else if (kind === STARTS) state = AT_ATTRIBUTE;
          else if (code === GREATER) return this.#found("open", at - from);
          else if (code === SLASH) state = AT_SLASH;
          else return "text";
          break;
        case AT_BEFORE_VALUE:
          if (kind === SPACE) break;
          if (code === QUOTE || code === APOSTROPHE) {
            this.#quote = code;
            state = AT_QUOTED;
          } else if (code === GREATER || code === LESS || code === EQUALS) return "text";
          else state = code === SLASH ? AT_BARE_SLASH : AT_BARE;
          break;
        case AT_QUOTED:
          if (code === this.#quote) state = AT_AFTER_VALUE;
          else if (code === LESS && this.#less === 0) {
            this.#less = at - from;
            this.length = at + 1 - from;
            this.#state = state;
            return this.#run(text, from);
          }
          break;
        case AT_AFTER_VALUE:
          if (kind === SPACE) state = AT_ATTRIBUTES;
          else if (kind === STARTS) state = AT_ATTRIBUTE;
          else if (code === GREATER) return this.#found("open", at - from);
          else if (code === SLASH) state = AT_SLASH;
          else return "text";
          break;
        case AT_BARE_SLASH:
          if (code === GREATER) return this.#found("empty", at - from);
          state = AT_BARE;
          continue;
        case AT_BARE:
          if (kind === SPACE) state = AT_ATTRIBUTES;
          else if (code === GREATER) return this.#found("open", at - from);
          else if (code === SLASH) state = AT_BARE_SLASH;
          else if (code === LESS || code === QUOTE || code === APOSTROPHE) return "text";
          break;
        case AT_SLASH:
          return code === GREATER ? this.#found("empty", at - from) : "text";
        case AT_CLOSE_START:
          if (kind !== STARTS) return "text";
          state = AT_CLOSE_NAME;
          break;
        case AT_CLOSE_SPACE:
          if (code === GREATER) return this.#found("close", at - from);
          if (kind !== SPACE) return "text";
          break;
        case AT_BANG:
          this.length = 2;
          this.#state = AT_BANG;
          return from < 0 ? "again" : this.#bang(text, from);
      }
      at++;
    }
    this.length = at - from;
    this.#state = state;
    return at < text.length || this.length >= LONGEST_TAG ? "text" : "more";
  }

  #bang(text: string, from: number): Scanned {
    for (const [opening, kind] of [
      ["<!--", "comment"],
      ["<![CDATA[", "cdata"],
    ] as const) {
      const given = text.slice(from, from + opening.length);
      if (given === opening) return this.#found(kind, opening.length - 1);
      if (opening.startsWith(given)) {
        this.length = 2;
        this.#state = AT_BANG;
        return "more";
      }
    }
    return "text";
  }

  #found(kind: Scanned, last: number): Scanned {
    this.length = last + 1;
    return kind;
  }
}
