import { type Ignored, nameOf } from "./ignored.ts";
import { below } from "./known.ts";
import { errorCodeOf } from "./look.ts";
import { listEntries } from "./scan.ts";

/** About how many files are in a folder: names only, so that it is known long before all of them were looked at. */
export function* countFiles(root: string, ignored: Ignored): Generator<undefined, number> {
  let files = 0;
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of namesIn(root, folder)) {
      yield;
      const path = below(folder, entry.name);
      if (!entry.isDirectory()) files += 1;
      else if (nameOf(path) !== ".git" && !ignored.isIgnored(path, true)) folders.push(path);
    }
  }
  return files;
}

function namesIn(root: string, folder: string): ReturnType<typeof listEntries> {
  try {
    return listEntries(root, folder, () => undefined);
  } catch (error) {
    // What went, or is closed to us, is looked for by who looks at everything, and told there.
    if (errorCodeOf(error) === "") throw error;
    return [];
  }
}
