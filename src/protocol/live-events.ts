import * as z from "zod";

const member = { context: z.string(), nick: z.string(), instance: z.string() };

/** Conversations and who is in them. */
const contextNotice = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("created"), context: z.string(), by: z.string() }),
  z.strictObject({ kind: z.literal("joined"), ...member }),
  z.strictObject({ kind: z.literal("left"), ...member }),
]);

/** What can be read, what can not any more, and what never will be. */
const resourceNotice = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("changed"), resource: z.string() }),
  z.strictObject({
    kind: z.literal("unwritten"),
    block: z.string(),
    actor: z.string().describe("whose appended text it was; their next call is told as well"),
    units: z.int().describe("UTF-16 units that were taken in and could not be kept"),
    why: z.string(),
  }),
  z.strictObject({
    kind: z.literal("conflict"),
    state: z.enum(["arose", "resolved"]),
    conflict: z.string().describe("pass it to file_resolve"),
    block: z.string(),
    path: z.string(),
    stood: z
      .enum(["disk", "memory", "nobody"])
      .describe("whose lines stand until somebody decides: theirs with disk, mine with memory"),
    theirs: z.string().describe("who changed the file, or merged a copy of it"),
    mine: z.array(z.string()).describe("who changed the block meanwhile"),
  }),
  z.strictObject({
    kind: z.literal("unsaved"),
    block: z.string(),
    path: z.string(),
    why: z.string().describe("the edit is kept, and its file is written as soon as it can be"),
  }),
  z.strictObject({
    kind: z.literal("damaged"),
    block: z.string().nullable().describe("null: it is part of no block"),
    effect: z
      .enum(["quarantined", "slower", "other"])
      .describe(
        "it cannot be used any more, only what made reading it faster is gone, or no text is touched",
      ),
    why: z.string(),
  }),
]);

const configNotice = z.strictObject({
  key: z.string(),
  value: z.json().describe("null: it was removed"),
  by: z.string(),
});

/** How far something is that takes a while. The last notice of a task is not `running`. */
const progressNotice = z.strictObject({
  task: z.string().describe("the same in all notices of one task"),
  what: z.string().describe("for people"),
  state: z.enum(["running", "done", "failed"]),
  done: z.number().min(0),
  total: z.number().min(0).optional(),
});

/** A question to a person, and its answer. */
const elicitationNotice = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("asked"),
    elicitation: z.string(),
    by: z.string(),
    question: z.string(),
    schema: z.json().describe("JSON Schema of the answer"),
  }),
  z.strictObject({
    kind: z.literal("answered"),
    elicitation: z.string(),
    by: z.string(),
    outcome: z.enum(["accepted", "declined", "cancelled"]),
  }),
]);

/** An *ask* of the rules, and its answer. */
const approvalNotice = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("asked"),
    approval: z.string(),
    actor: z.string(),
    operation: z.string(),
    target: z.string(),
    reason: z.string(),
  }),
  z.strictObject({
    kind: z.literal("answered"),
    approval: z.string(),
    by: z.string(),
    decision: z.enum(["allow", "deny"]),
  }),
]);

const notices = {
  context: contextNotice,
  resource: resourceNotice,
  config: configNotice,
  progress: progressNotice,
  elicitation: elicitationNotice,
  approval: approvalNotice,
};

export type LiveTopic = keyof typeof notices;
export const liveTopics = Object.keys(notices) as readonly LiveTopic[];
export type Notice<Topic extends LiveTopic> = z.infer<(typeof notices)[Topic]>;

/** What happens now and is kept nowhere: numbered per topic from 1, anew with every start of the kernel. */
export function liveEvent<Topic extends LiveTopic>(topic: Topic) {
  return z.strictObject({
    topic: z.literal(topic),
    sequence: z.int().min(1),
    time: z.int(),
    notice: notices[topic],
  });
}

export interface LiveEvent<Topic extends LiveTopic> {
  readonly topic: Topic;
  readonly sequence: number;
  readonly time: number;
  readonly notice: Notice<Topic>;
}
