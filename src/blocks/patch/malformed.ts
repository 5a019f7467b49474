import { type Facts, KumikoError } from "../../base/index.ts";

/** `line` counts from 1, as editors show the patch. */
export function malformed(sentence: string, line: number | null, facts: Facts = {}): KumikoError {
  if (line === null) return new KumikoError("patch_malformed", sentence, facts);
  return new KumikoError("patch_malformed", `Line ${line} of the patch: ${sentence}`, {
    patch_line: line,
    counted_from: 1,
    ...facts,
  });
}
