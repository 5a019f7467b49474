import { KumikoError } from "../base/index.ts";

export function disposed(): KumikoError {
  return new KumikoError("disposed", "The client was disposed of.", {});
}
