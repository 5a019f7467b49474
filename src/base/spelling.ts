/**
 * A path as it is compared: in the form NFC and, where the file system ignores case, without case. File systems
 * that ignore case also ignore characters that show nothing (`.e\u200Cnv` opens `.env` there), so those go too.
 */
export function spelled(path: string, ignoreCase: boolean): string {
  if (isAscii(path)) return ignoreCase ? path.toLowerCase() : path;
  const composed = path.normalize("NFC");
  return ignoreCase ? withoutCase(composed) : composed;
}

const SHOWS_NOTHING = /\p{Default_Ignorable_Code_Point}/gu;

/** Character by character: a whole word would give its last sigma a form of its own. */
function withoutCase(text: string): string {
  let folded = "";
  for (const character of text.replace(SHOWS_NOTHING, "")) {
    // A dotless i is no i: only its capital looks like one.
    folded += character === "ı" ? character : character.toUpperCase().toLowerCase();
  }
  return folded.normalize("NFC");
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) > 0x7f) return false;
  }
  return true;
}
