import { KumikoError } from "../../base/index.ts";

/** What can be read and listened to: a conversation, or one block. */
export interface ResourceName {
  readonly kernel: string;
  readonly kind: "contexts" | "blocks";
  readonly id: string;
}

const FORM = /^kumiko:\/\/([a-z0-9-]{1,32})\/(contexts|blocks)\/([a-z0-9@~-]{1,128})$/;

export const resourceTemplates = [
  {
    uriTemplate: "kumiko://{kernel}/contexts/{context}",
    name: "context",
    title: "A conversation",
    description: "The blocks of a conversation in their order: who, what, the beginning of each.",
    mimeType: "text/plain",
  },
  {
    uriTemplate: "kumiko://{kernel}/blocks/{block}",
    name: "block",
    title: "A block",
    description: "The exact text of one block. Reading it counts as having been shown it.",
    mimeType: "text/plain",
  },
] as const;

/** Ids need no escaping: that is what they are made for. */
export function resourceUri({ kernel, kind, id }: ResourceName): string {
  return `kumiko://${kernel}/${kind}/${id}`;
}

export function parseResourceUri(uri: string): ResourceName {
  const [, kernel, kind, id] = FORM.exec(uri) ?? [];
  if (kernel !== undefined && id !== undefined && (kind === "contexts" || kind === "blocks"))
    return { kernel, kind, id };
  throw new KumikoError(
    "invalid_argument",
    `${uri} names nothing here: resources are kumiko://<kernel>/contexts/<context> and kumiko://<kernel>/blocks/<block>.`,
    { uri },
  );
}
