import * as z from "zod";
import { liveTopics } from "./live-events.ts";
import { toolFilter } from "./tool-filter.ts";

const name = z.string().min(1).max(32);
const block = z.string().min(1).max(128);
const position = z.int().min(0);
const label = z.string().min(1).max(128);
const path = z.string().min(1).max(4096);

const trace = z
  .string()
  .regex(/^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/)
  .describe("W3C traceparent, handed on with everything the call does");

const callId = label.describe("makes a retry safe: same id and arguments, same answer");

/** What may be said of any call that does something. */
const said = {
  actor: name.optional().describe("on whose behalf; another than the token's needs act_as"),
  trace: trace.optional(),
};

const member = {
  context: name,
  nick: name.optional().describe("the actor by default"),
  instance: name.optional().describe("tells two places of one person apart; rpc by default"),
};

/** One call of a tool, and what is said of who calls. */
const toolCall = z.strictObject({
  name: z.string().min(1).max(64),
  arguments: z.record(z.string(), z.unknown()).optional(),
  context: name.optional(),
  reader: label.optional().describe("the line of sight; the connection by default"),
  call_id: callId.optional(),
  model: label.optional(),
  turn: label.optional(),
  message: z.string().max(1000).optional(),
  passing: z
    .boolean()
    .optional()
    .describe("the caller comes and goes: what it leaves running waits for its next call"),
  cancel: label.optional().describe("a name by which cancelCall gives the call up"),
  ...said,
});

const heldVersion = z.strictObject({ block_id: block, version: z.int().min(0) });

const purge = {
  text: z.string().min(1).optional().describe("this text, wherever it stands"),
  block_id: block.optional().describe("all of this block; one of the two"),
  ...said,
};

const topic = z.enum(["block", ...liveTopics]);

/** What each method takes; no argument and an empty one are the same. Everything else is refused. */
export const rpcInputs = {
  World: {
    whoami: z.strictObject({}),
    listKernels: z.strictObject({}),
    attachKernel: z.strictObject({ kernel: name, trace: trace.optional() }),
    createKernel: z.strictObject({
      kernel: name.optional(),
      folder: z.string().min(1).max(4096).optional().describe("makes it the kernel of this folder"),
      trace: trace.optional(),
    }),
  },
  Kernel: {
    listContexts: z.strictObject({}),
    createContext: z.strictObject({ context: name, ...said }),
    joinContext: z.strictObject({ ...member, ...said }),
    leaveContext: z.strictObject({ ...member, ...said }),
    openContext: z.strictObject({ ...member, ...said }),
    executeTool: toolCall,
    cancelCall: z.strictObject({ cancel: label }),
    getToolSchemas: z.strictObject({
      filter: toolFilter.optional().describe("only these, among those that the kernel offers"),
    }),
    getToolFilter: z.strictObject({}),
    setToolFilter: z.strictObject({ filter: toolFilter, ...said }),
    pushOps: z.strictObject({
      block_id: block,
      base_version: z.int().min(0).describe("the version that the splices mean"),
      splices: z
        .array(z.strictObject({ at: z.int().min(0), remove: z.int().min(0), insert: z.string() }))
        .min(1)
        .max(1000)
        .describe("in UTF-16 units of that version, none overlapping another"),
      reader: label.optional(),
      call_id: callId.optional(),
      message: z.string().max(1000).optional(),
      ...said,
    }),
    getDocumentState: z.strictObject({ block_id: block, position: position.optional() }),
    subscribeBlocks: z.strictObject({
      block_ids: z.array(block).max(10_000).optional(),
      context: name.optional(),
      from: position.optional().describe("everything behind this position, then what comes"),
      from_versions: z.array(heldVersion).max(1000).optional(),
    }),
    feed: z.strictObject({
      from: position.optional().describe("of the topic block; from now on without it"),
      topics: z.array(topic).min(1).max(10).optional().describe("block alone by default"),
    }),
    history: z.strictObject({
      block_id: block,
      before: z.int().min(1).optional(),
      limit: z.int().min(1).max(1000).optional(),
    }),
    search: z.record(z.string(), z.unknown()).describe("the arguments of kernel_search"),
    usage: z.strictObject({ biggest: z.int().min(0).max(10_000).optional() }),
    gaps: z.strictObject({ block_id: block }),
    previewPurge: z.strictObject(purge),
    purge: z.strictObject({ ...purge, message: z.string().max(1000).optional() }),
    retention: z.strictObject({}),
    setRetention: z.strictObject({
      answered_calls_days: z.int().min(1).max(36_500).nullable().optional(),
      idle_snapshots_days: z.int().min(1).max(36_500).nullable().optional(),
      ...said,
    }),
    applyRetention: z.strictObject({}),
    exportPage: z.strictObject({
      context: z.string().min(1).max(33).describe("a conversation, or the files of a folder: @src"),
      position: position.optional().describe("as it stood then; now without it"),
      after: block.optional().describe("go on behind this block, as the last page said"),
      limit: z.int().min(1).max(1000).optional().describe("blocks in one page; 100 by default"),
    }),
    authors: z.strictObject({ position: position.optional(), context: name.optional() }),
    verify: z.strictObject({}),
    position: z.strictObject({}),
    mounts: z.strictObject({}),
    mount: z.strictObject({
      folder: path.describe("an absolute path on the server's machine"),
      name: name.optional().describe("files are @name/path; by default the folder's own"),
      manual: z
        .boolean()
        .optional()
        .describe("files are written only when somebody says so; by default as it was"),
      rules: z
        .array(z.string().min(1).max(1100))
        .max(100)
        .optional()
        .describe(
          "each pattern=level or pattern=level!operation,operation, before those of kumiko.toml; by default as they were",
        ),
      ...said,
    }),
    unmount: z.strictObject({ mount: path.describe("its name or its folder"), ...said }),
    explainRules: z.strictObject({ path }),
    detach: z.strictObject({}),
    close: z.strictObject({}),
  },
  Context: {
    show: z.strictObject({ limit: z.int().min(1).max(1000).optional() }),
    members: z.strictObject({}),
    blocks: z.record(z.string(), z.unknown()).describe("the arguments of block_list"),
    post: z.record(z.string(), z.unknown()).describe("the arguments of block_create"),
    executeTool: toolCall.omit({ context: true }),
    leave: z.strictObject({}),
  },
  Subscription: {
    end: z.strictObject({}),
  },
} as const;

export type RpcInputs = {
  [Capability in keyof typeof rpcInputs]: {
    [
      Method in keyof (typeof rpcInputs)[Capability]
    ]: (typeof rpcInputs)[Capability][Method] extends z.ZodType
      ? z.input<(typeof rpcInputs)[Capability][Method]>
      : never;
  };
};
