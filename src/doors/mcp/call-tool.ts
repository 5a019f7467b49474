import { KumikoError } from "../../base/index.ts";
import type { ToolFilter } from "../../tools/index.ts";
import { retrySafe } from "../retry-safe.ts";
import { asRefusal, type Host } from "./host.ts";
import { contextFor, kernelFor } from "./places.ts";
import { type Sight, sightOfCall } from "./sight.ts";
import { errorText } from "./tool-error.ts";
import type { Answer } from "./plain-words.ts";
import { answerData, answerText } from "./tool-text.ts";

interface ToolCall {
  readonly name: string;
  readonly arguments: Answer;
  /** The connection's. */
  readonly sight: Sight;
  /** The call's own. */
  readonly meta: Answer | undefined;
  readonly signal: AbortSignal;
}

type RefusalData = ReturnType<KumikoError["toJSON"]>;

/**
 * There is no structuredContent: Claude Code and Codex show their models that instead of the text, and nothing of what
 * the text says in a model's words.
 */
export interface ToolResult {
  [key: string]: unknown;
  content: { type: "text"; text: string }[];
  isError?: boolean;
  /** For programs: what a tool answered, or the refusal. */
  _meta: { "kumiko/answer"?: Answer; "kumiko/error"?: RefusalData };
}

/**
 * Calls a tool and gives what a model reads, and a program beside it. What a tool refuses is an answer to the
 * model; that there is no such tool is thrown.
 */
export async function callTool(
  host: Host,
  profile: ToolFilter,
  { name, arguments: input, sight: connection, meta, signal }: ToolCall,
): Promise<ToolResult> {
  const tool = name.replace(".", "_");
  try {
    const sight = sightOfCall(connection, meta);
    const kernel = await kernelFor(host, sight);
    const context = await contextFor(host, kernel, sight);
    const { actor, reader, folder, call, beside, model, turn, trace } = sight;
    const given = { actor, reader, context, folder, call, beside, model, turn, trace, signal };
    const safe = retrySafe(host.registry, name, input, call);
    const asked = { name, input: safe, given, filter: profile };
    const answer = (await host.call(kernel, asked)) as Answer;
    const text = answerText(tool, answer, input);
    return {
      content: [{ type: "text", text }],
      _meta: { "kumiko/answer": answerData(tool, answer) },
    };
  } catch (thrown) {
    const error = asRefusal(host, thrown);
    if (error.code === "unknown_tool") throw withProfile(error, profile);
    return refusal(error);
  }
}

/** What the profile leaves out is there for whoever asks for it; what the kernel does not offer is not. */
function withProfile(error: KumikoError, profile: ToolFilter): KumikoError {
  const { left_out: name } = error.facts;
  if (profile.kind !== "allow" || typeof name !== "string" || profile.names.includes(name))
    return error;
  const how = `A person can start \`kumiko mcp --tools all\` (over HTTP the header kumiko-tools: all), which has ${name}.`;
  return new KumikoError(error.code, `${error.message} ${how}`, error.facts, { cause: error });
}

function refusal(error: KumikoError): ToolResult {
  return {
    content: [{ type: "text", text: errorText(error) }],
    _meta: { "kumiko/error": error.toJSON() },
    isError: true,
  };
}
