import * as z from "zod";
import { KumikoError, sha256Text } from "../base/index.ts";
import type { Invocation, Kernel, Operation } from "../kernel/index.ts";
import { problemWords } from "../protocol/index.ts";

/** An example is part of the definition: it is shown to models and run by the tests. */
interface ToolExample {
  readonly when: string;
  readonly input: unknown;
}

interface Description<Input extends z.ZodType, Output extends z.ZodType> {
  readonly name: string;
  /** Written for the model that will use it. */
  readonly description: string;
  readonly input: Input;
  readonly output: Output;
  readonly examples: readonly ToolExample[];
  readonly writes: boolean;
  /** It is more than one commit: under a call id its whole answer is kept for whoever makes the call again. */
  readonly keepsAnswer?: true;
  /** What it does to the block it is given; by default `change` when it writes, `read` otherwise. */
  readonly operation?: Operation | undefined;
}

export interface Tool extends Description<z.ZodType, z.ZodType> {
  run(kernel: Kernel, invocation: Invocation, input: unknown): Promise<unknown>;
}

/** Goes on answering until the caller stops it. For programs: models cannot call it. */
export interface StreamingTool extends Description<z.ZodType, z.ZodType> {
  /** Each item is as `output` says. Arguments are checked before the first one is asked for. */
  stream(kernel: Kernel, invocation: Invocation, input: unknown): AsyncIterable<unknown>;
}

interface ToolDefinition<Input extends z.ZodType, Output extends z.ZodType> extends Description<
  Input,
  Output
> {
  run(kernel: Kernel, call: ToolCall<z.output<Input>>): Promise<z.input<Output>>;
}

interface StreamDefinition<Input extends z.ZodType, Output extends z.ZodType> extends Description<
  Input,
  Output
> {
  stream(kernel: Kernel, call: ToolCall<z.output<Input>>): AsyncIterable<z.input<Output>>;
}

interface ToolCall<Input> {
  readonly input: Input;
  /** What the caller called the block that `input` names: the path of a file, or of a link to one. */
  readonly given?: string;
  readonly invocation: Invocation;
  /** Tool and arguments as one hash: what makes a retry the same call. Empty when the call has no id. */
  readonly fingerprint: string;
}

/** What every writing tool takes beside its own arguments. */
export const writing = {
  base_version: z
    .int()
    .min(0)
    .optional()
    .describe(
      "the version your line numbers and offsets mean; by default the one you were last shown, which after an edit of yours is " +
        "the one that it made. Name it in edits that you think out together and send one after the other",
    ),
  reader: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe("your line of sight, if you keep several apart"),
  call_id: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe("makes a retry safe: same id and arguments, same answer"),
  message: z.string().max(1000).optional().describe("why, for the history"),
};

/** One schema, one description, one implementation; everything else is derived from it. */
export function defineTool<Input extends z.ZodType, Output extends z.ZodType>(
  definition: ToolDefinition<Input, Output>,
): Tool {
  return {
    ...definition,
    async run(kernel, invocation, input) {
      const call = toCall(definition, { made: kernel.readers.now, ...invocation }, input);
      const carryOut = async (): Promise<z.input<Output>> =>
        definition.run(kernel, await withTarget(kernel, definition, call));
      return definition.keepsAnswer === true
        ? kernel.once(call.invocation, call.fingerprint, carryOut)
        : carryOut();
    },
  };
}

export function defineStream<Input extends z.ZodType, Output extends z.ZodType>(
  definition: StreamDefinition<Input, Output>,
): StreamingTool {
  return {
    ...definition,
    stream: (kernel, invocation, input) =>
      definition.stream(kernel, toCall(definition, invocation, input)),
  };
}

/** Where a tool takes a block it also takes the path of a file: from here on there are only blocks. */
async function withTarget<Input>(
  kernel: Kernel,
  { writes, operation = writes ? "change" : "read" }: Description<z.ZodType, z.ZodType>,
  call: ToolCall<Input>,
): Promise<ToolCall<Input>> {
  const { block_id: given } = call.input as { block_id?: unknown };
  if (typeof given !== "string") return call;
  const block_id = await kernel.target(call.invocation, given, operation);
  return { ...call, given, input: { ...call.input, block_id } };
}

function toCall<Input extends z.ZodType>(
  { name, input: schema, examples }: Description<Input, z.ZodType>,
  invocation: Invocation,
  input: unknown,
): ToolCall<z.output<Input>> {
  const parsed = schema.safeParse(input, { error: problemWords });
  if (!parsed.success) throw invalidInput({ name, schema, examples }, input, parsed.error);
  const own = parsed.data as { reader?: string; call_id?: string; message?: string };
  const call = own.call_id ?? invocation.call;
  return {
    input: parsed.data,
    fingerprint:
      call === undefined
        ? ""
        : sha256Text(`${name} ${canonical(asMeant(schema, invocation, parsed.data))}`),
    invocation: {
      ...invocation,
      tool: name,
      reader: own.reader ?? invocation.reader,
      call,
      message: own.message ?? invocation.message,
    },
  };
}

/** Where the caller is counts as an argument of what goes there unless it is told otherwise. */
function asMeant(schema: z.ZodType, { context }: Invocation, input: unknown): unknown {
  const takesContext = schema instanceof z.ZodObject && "context" in schema.shape;
  return takesContext ? { context, ...(input as object) } : input;
}

interface Called {
  readonly name: string;
  readonly schema: z.ZodType;
  readonly examples: readonly ToolExample[];
}

function invalidInput(
  { name: tool, schema, examples }: Called,
  input: unknown,
  { issues }: z.ZodError,
): KumikoError {
  const problems = issues.map((issue) => ({
    at: issue.path.join(".") || "(the whole)",
    message: problemOf(issue, input),
  }));
  const misnamed = issues.some(
    (issue) => issue.code === "unrecognized_keys" || isMissing(issue, input),
  );
  const told = [
    ...problems.map(({ message }) => message),
    ...(misnamed ? taken(schema) : []),
    ...right(issues, examples),
  ];
  return new KumikoError(
    "invalid_argument",
    `${tool} cannot be called like that: ${told.join("; ")}.`,
    { tool, problems },
  );
}

function problemOf(issue: z.core.$ZodIssue, input: unknown): string {
  const { path, message } = issue;
  const at = path.join(".");
  if (issue.code === "unrecognized_keys") {
    const keys = issue.keys.map((key) => [...path, key].join(".")).join(", ");
    return `there is no argument ${keys}`;
  }
  if (isMissing(issue, input)) return `${at} is missing`;
  return `${at || "(the whole)"}: ${message}`;
}

function isMissing({ path }: z.core.$ZodIssue, input: unknown): boolean {
  const given = path.reduce<unknown>(
    (value, key) => (value as { readonly [key: PropertyKey]: unknown } | undefined)?.[key],
    input,
  );
  return path.length > 0 && given === undefined;
}

/** How the first list or object that is wrong, or wrong inside, is written: its name alone does not say what it is made of. */
function right(issues: readonly z.core.$ZodIssue[], examples: readonly ToolExample[]): string[] {
  const inside = issues.find(
    (issue) =>
      issue.path.length > (issue.code === "unrecognized_keys" ? 0 : 1) ||
      (issue.code === "invalid_type" && ["array", "object"].includes(issue.expected)) ||
      (issue.code === "too_small" && issue.origin === "array"),
  );
  const name = String(inside?.path[0]);
  const [good] = examples.flatMap(({ input }) => {
    const value = (input as { readonly [name: string]: unknown })[name];
    return value === undefined ? [] : [JSON.stringify(value)];
  });
  return good === undefined ? [] : [`${name} is written like this: ${good}`];
}

/** What can be given at all, those first that must be. */
function taken(schema: z.ZodType): string[] {
  if (!(schema instanceof z.ZodObject)) return [];
  const names = Object.entries(schema.shape);
  const needed = names.filter(([, each]) => !each.safeParse(undefined).success);
  const others = names.filter((each) => !needed.includes(each)).map(([name]) => name);
  const all = needed.map(([name]) => name);
  if (others.length > 0) all.push(`${all.length > 0 ? "and if wanted " : ""}${others.join(", ")}`);
  return [`it takes: ${all.join(", ")}`];
}

/** JSON with sorted keys: the same arguments in another order are the same call. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    each !== null && typeof each === "object" && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}
