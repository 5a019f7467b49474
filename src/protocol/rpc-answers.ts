import * as z from "zod";
import {
  blockFlags,
  blockKind,
  blockMetadata,
  blockRole,
  blockState,
  blockStatus,
} from "./block.ts";
import { scope, tokenKind } from "./token.ts";
import { toolFilter } from "./tool-filter.ts";

const contextInfo = z.strictObject({
  context: z.string(),
  created: z.int().nullable(),
  by: z.string().nullable(),
  damaged: z.string().optional(),
});

const member = z.strictObject({
  context: z.string(),
  kernel: z.string(),
  nick: z.string(),
  instance: z.string(),
});

/** What a tool answers is as the tool's own schema says. */
const toolAnswer = z.unknown();

const retention = z.strictObject({
  answered_calls_days: z.int().nullable(),
  idle_snapshots_days: z.int().nullable(),
});

const amount = { versions: z.int(), text: z.int(), history: z.int() };
const place = { block: z.string(), units: z.int(), commits: z.int() };
const gap = z.strictObject({
  ...place,
  by: z.string(),
  time: z.int(),
  why: z.string().nullable(),
});

const exportedBlock = z.strictObject({
  block_id: z.string(),
  unreadable: z.string().optional().describe("why nothing else is said of it"),
  parent_id: z.string().nullable().optional(),
  kind: blockKind.optional(),
  role: blockRole.optional(),
  status: blockStatus.optional(),
  flags: blockFlags.optional(),
  metadata: blockMetadata.optional(),
  created: z.int().optional(),
  version: z.int().optional(),
  text: z.string().optional(),
});

const mountedFolder = z.strictObject({
  mount: z.string(),
  folder: z.string().describe("its real path"),
  files: z.int().describe("that have blocks"),
  unsaved: z.int().describe("whose blocks are ahead of the disk"),
  conflicts: z.int(),
  manual: z.boolean(),
  rules: z.array(z.string()).describe("that it was mounted with, each as --rule takes it"),
  trouble: z.string().optional().describe("what is wrong with it now"),
});

const decision = z.strictObject({
  decision: z.enum(["allow", "ask", "deny"]),
  reason: z.string(),
});

/** What each method answers, where that is not a capability. */
export const rpcAnswers = {
  World: {
    whoami: z.strictObject({
      token: z.string(),
      kind: tokenKind,
      actor: z.string(),
      scopes: z.array(scope),
      kernels: z.array(z.string()).nullable().describe("null: all"),
      server: z.string().describe("the server's version"),
      protocol: z.int(),
    }),
    listKernels: z.array(
      z.strictObject({ kernel: z.string(), folder: z.string(), created: z.int(), bytes: z.int() }),
    ),
  },
  Kernel: {
    listContexts: z.array(contextInfo),
    createContext: contextInfo,
    leaveContext: z.strictObject({ ...member.shape, left: z.boolean() }),
    executeTool: toolAnswer,
    cancelCall: z.strictObject({ cancelled: z.boolean() }),
    getToolSchemas: z.array(
      z.strictObject({
        name: z.string(),
        description: z.string(),
        writes: z.boolean(),
        input: z.unknown().describe("JSON Schema"),
        output: z.unknown().describe("JSON Schema"),
      }),
    ),
    getToolFilter: toolFilter,
    setToolFilter: toolFilter,
    pushOps: z.strictObject({ block_id: z.string(), version: z.int(), edit: z.string() }),
    getDocumentState: z.strictObject({
      block_id: z.string(),
      version: z.int(),
      text: z.string(),
      state: blockState,
      position: z.int().describe("follow the feed from here"),
    }),
    history: toolAnswer,
    search: toolAnswer,
    usage: z.strictObject({
      bytes: z.record(z.string(), z.int()),
      blocks: z.int(),
      versions: z.int(),
      contexts: z.array(z.strictObject({ ...amount, context: z.string(), blocks: z.int() })),
      biggest: z.array(z.strictObject({ ...amount, block: z.string() })),
      unreadable: z.int(),
    }),
    gaps: z.array(gap),
    previewPurge: z.strictObject({
      places: z.array(z.strictObject(place)),
      unreadable: z.array(z.string()),
    }),
    purge: z.strictObject({
      gaps: z.array(gap),
      calls: z.int(),
      unreadable: z.array(z.string()),
    }),
    retention,
    setRetention: retention,
    applyRetention: z.strictObject({ calls: z.int(), snapshots: z.int() }),
    exportPage: z.strictObject({
      position: z.int(),
      blocks: z.array(exportedBlock).describe("in conversation order, children below parents"),
      after: z.string().optional().describe("pass it for the next page"),
    }),
    authors: z.record(z.string(), z.array(z.string())).describe("who changed each block"),
    verify: z.strictObject({
      findings: z.array(
        z.strictObject({
          table: z.string(),
          key: z.string(),
          block: z.string().optional(),
          why: z.string(),
          sentence: z.string(),
          effect: z.enum(["lost", "slower", "other"]),
        }),
      ),
      blocks: z.array(z.strictObject({ block: z.string(), readable_version: z.int().nullable() })),
    }),
    position: z.strictObject({ position: z.int() }),
    mounts: z.array(mountedFolder),
    mount: mountedFolder,
    unmount: z.strictObject({ mount: z.string(), folder: z.string() }),
    explainRules: z.strictObject({
      mount: z.string(),
      folder: z.string(),
      path: z.string().describe("in the folder"),
      trouble: z
        .string()
        .optional()
        .describe("why kumiko.toml cannot be read now; what it said before holds meanwhile"),
      level: z.string(),
      looked: z
        .array(
          z.strictObject({
            pattern: z.string(),
            from: z.string().describe("where the rule stands"),
            level: z.string(),
            escalate: z.array(z.string()).optional().describe("these ask, whatever the level says"),
            matched: z.boolean(),
          }),
        )
        .describe("every rule that was looked at; the last one matched"),
      protections: z
        .array(
          z.strictObject({
            pattern: z.string(),
            level: z.string(),
            word: z.string().describe("a rule names it when its pattern has this in it"),
            named: z.boolean().describe("if not, the rule that matched gives no more than this"),
          }),
        )
        .describe("what is built in to protect the path"),
      operations: z.array(
        z.strictObject({ operation: z.string(), agent: decision, person: decision }),
      ),
    }),
    detach: z.strictObject({}),
    close: z.strictObject({}),
  },
  Context: {
    show: z.strictObject({
      ...contextInfo.shape,
      kernel: z.string(),
      members: z.array(member),
      blocks: z.array(z.unknown()).describe("as block_list gives them"),
      truncated: z.boolean(),
      after: z.string().optional(),
    }),
    members: z.array(member),
    blocks: toolAnswer,
    post: toolAnswer,
    executeTool: toolAnswer,
    leave: z.strictObject({ left: z.boolean() }),
  },
  Subscription: {
    end: z.strictObject({}),
  },
} as const;

export type RpcAnswers = {
  [Capability in keyof typeof rpcAnswers]: {
    [
      Method in keyof (typeof rpcAnswers)[Capability]
    ]: (typeof rpcAnswers)[Capability][Method] extends z.ZodType
      ? z.output<(typeof rpcAnswers)[Capability][Method]>
      : never;
  };
};
