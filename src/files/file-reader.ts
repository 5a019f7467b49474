import { join } from "node:path";
import { KumikoError } from "../base/index.ts";
import type { FileFinding, FileReading } from "../kernel/index.ts";
import { Folder } from "./contained.ts";
import { readWhole } from "./disk-file.ts";
import { identityText } from "./file-stat.ts";
import { lookAt } from "./look.ts";
import { readText } from "./text-form.ts";

/** What says that there is no text, and that there will be none until the file changes. */
const NO_TEXT = ["too_large", "disk_moved", "outside", "invalid_argument"];

/** Open for as long as the thread that reads lives. */
const folders = new Map<string, Folder>();

/** Files that nobody has loaded, as they are now: many of them, for searches and their index. */
export async function readFiles(reading: FileReading): Promise<FileFinding[]> {
  const folder = openFolder(reading.folder);
  const found: FileFinding[] = [];
  let left = reading.units;
  for (const path of reading.paths) {
    const file = await readOne(folder, path, reading.largest);
    found.push(file);
    if ("text" in file) left -= file.text.length;
    if (left <= 0) break;
  }
  return found;
}

async function readOne(folder: Folder, path: string, largest: number): Promise<FileFinding> {
  try {
    const whole = await readWhole({ folder, path, kind: "file" }, largest);
    if (whole === undefined) return { path, absent: true };
    const read = readText(whole.bytes, largest);
    const identity = identityText(whole.stat);
    if ("why" in read) return { path, noText: true, identity };
    return { path, text: read.text, hash: whole.content.hash, identity };
  } catch (error) {
    if (!(error instanceof KumikoError) || error.code === "root_gone") throw error;
    const none = NO_TEXT.includes(error.code) || error.facts["reason"] === "not_plain";
    return none ? noText(folder, path) : { path, unreadable: error.message };
  }
}

function noText(folder: Folder, path: string): FileFinding {
  const look = lookAt(join(folder.path, path));
  if (look === undefined) return { path, absent: true };
  return { path, noText: true, identity: identityText(look) };
}

/** The folder that stands there now: it may have been away and come back as another. */
function openFolder(root: string): Folder {
  const known = folders.get(root);
  try {
    known?.check();
    if (known !== undefined) return known;
  } catch (error) {
    if (!(error instanceof KumikoError)) throw error;
    known?.[Symbol.dispose]();
    folders.delete(root);
  }
  const folder = Folder.open(root);
  folders.set(root, folder);
  return folder;
}
