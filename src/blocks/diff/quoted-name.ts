import { KumikoError } from "../../base/index.ts";

const letters: Readonly<Record<string, string>> = {
  "\u0007": "a",
  "\b": "b",
  "\t": "t",
  "\n": "n",
  "\v": "v",
  "\f": "f",
  "\r": "r",
  '"': '"',
  "\\": "\\",
};
const characters = new Map(
  Object.entries(letters).map(([character, letter]) => [letter, character]),
);

/**
 * A file name for a `---` or `+++` line, as git writes it: quoted when it holds what would end or
 * change it, and followed by a tab when it holds a space (GNU patch else takes the rest for a date).
 * Unlike git, also quoted when a space begins or ends it: GNU patch drops those.
 */
export function quoteName(name: string): string {
  const quoted = name.replace(/[\p{Cc}"\\]/gu, (character) => {
    const letter = letters[character];
    return letter === undefined ? octalBytes(character) : `\\${letter}`;
  });
  if (quoted !== name || name.startsWith(" ") || name.endsWith(" ")) return `"${quoted}"`;
  return name.includes(" ") ? `${name}\t` : name;
}

function octalBytes(character: string): string {
  return Array.from(encodeURIComponent(character).matchAll(/%(..)|(.)/g), ([, byte, plain]) => {
    const code = byte === undefined ? plain!.charCodeAt(0) : Number.parseInt(byte, 16);
    return `\\${code.toString(8).padStart(3, "0")}`;
  }).join("");
}

/** Reads a quoted name at the start of `text`; octal escapes are UTF-8 bytes. */
export function unquoteName(text: string): { name: string; rest: string } {
  const quoted = /^"((?:[^"\\]|\\.)*)"/.exec(text);
  if (quoted === null) throw unreadable(text);
  const percent = quoted[1]!.replace(
    /\\([0-3][0-7]{2})|\\(.)|([^\\])/gu,
    (_whole, octal, letter, plain) => {
      if (octal !== undefined) return `%${Number.parseInt(octal, 8).toString(16).padStart(2, "0")}`;
      const character = letter === undefined ? plain : characters.get(letter);
      if (character === undefined) throw unreadable(text);
      return encode(character, text);
    },
  );
  try {
    return { name: decodeURIComponent(percent), rest: text.slice(quoted[0].length) };
  } catch (cause) {
    throw unreadable(text, cause);
  }
}

function encode(character: string, text: string): string {
  try {
    return encodeURIComponent(character);
  } catch (cause) {
    throw unreadable(text, cause);
  }
}

function unreadable(text: string, cause?: unknown): KumikoError {
  return new KumikoError(
    "patch_malformed",
    `The quoted file name ${JSON.stringify(text)} cannot be read.`,
    { name: text },
    { cause },
  );
}
