import type { Facts, KumikoError } from "../../base/index.ts";
import { printedFact } from "../refusal.ts";
import { DEFAULT_KERNEL } from "./options.ts";

/** What to type when something is not there, or does not answer. */
export function homeHint({ code, facts }: KumikoError): string | undefined {
  const { elsewhere, nearest } = facts;
  if (typeof elsewhere === "string") return hasIt(elsewhere);
  if (typeof nearest === "string")
    return code === "unknown_block"
      ? `Did you mean ${nearest}? ${listing(facts)}`
      : `Did you mean ${nearest}? ${contextHint(printedFact(facts["context"]))}`;
  switch (code) {
    case "unknown_block":
      return listing(facts);
    case "unknown_kernel":
      return facts["kernel"] === DEFAULT_KERNEL
        ? "This folder is not mounted: begin with `kumiko mount .` or `kumiko serve`; without a folder, with " +
            `\`kumiko context new <name>\`.${otherKernels(facts)} Another home is chosen with --home or $KUMIKO_HOME.`
        : `Make it with \`kumiko kernel new ${printedFact(facts["kernel"])}\`, or choose another with --kernel.`;
    case "unknown_context":
      return contextHint(printedFact(facts["context"]));
    case "already_exists":
      return typeof facts["context"] === "string"
        ? `\`kumiko context show ${facts["context"]}\` shows it.`
        : undefined;
    case "invalid_argument":
      // What is no block is a path, as far as this command goes; the kernel has no folder it could be in.
      return typeof facts["value"] === "string" && facts["value"].startsWith("/")
        ? "Files are blocks where their folder is mounted: `kumiko mount .`; `kumiko context list` says what else there is."
        : undefined;
    case "unauthorised":
      return "The home's owner has a token of its own: `kumiko token list` makes it anew when it is not good any more.";
    case "protocol_mismatch":
      return "Stop the server (Ctrl-C where it runs; `kumiko status` names its process) and start it with this kumiko, or use the one that started it.";
    case "unreachable":
      return typeof facts["pid"] !== "number"
        ? undefined
        : "It has the kernel, so nothing was done here.";
    case "offline":
      return facts["sent"] === true
        ? "`kumiko status` says whether a server runs again. With the same --call-id a change is made once, however often it is asked for."
        : "`kumiko status` says whether a server runs again; then try once more.";
    case "closing":
      return "Try again: without a server this command does the work itself.";
    default:
      return undefined;
  }
}

function otherKernels({ kernels }: Facts): string {
  return Array.isArray(kernels) && kernels.length > 0
    ? ` Other folders' files are meant by their paths, or with --kernel: ${kernels.map(printedFact).join(", ")}.`
    : "";
}

export function hasIt(kernel: string): string {
  return `${kernel} has it: --kernel ${kernel}`;
}

/** Where what there is can be seen. */
function listing({ context }: Facts): string {
  return typeof context === "string" && nameOfContext.test(context)
    ? `\`kumiko block list --context ${context}\` lists what is there.`
    : "`kumiko context list` says what there is.";
}

const nameOfContext = /^[a-z0-9-]{1,32}$/;

/** A name that no context may have is not made either. */
function contextHint(context: string): string {
  if (context.startsWith("@")) return "Names with @ are folders: `kumiko mounts` lists them.";
  return nameOfContext.test(context)
    ? `Make it with \`kumiko context new ${context}\`.`
    : "`kumiko context list` says what there is.";
}
