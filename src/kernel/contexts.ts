import { checkIdPart, type Clock, KeyedQueue, KumikoError } from "../base/index.ts";
import type { Notice } from "../protocol/index.ts";
import type { Store } from "./ports.ts";
import { isDamage } from "./quarantine.ts";

const SPACE = "contexts";
const MEMBERS = "members";

export interface ContextInfo {
  readonly context: string;
  readonly created: number;
  readonly by: string;
}

/** Who joined what: a nickname and an instance, so that one person may be there twice. */
export interface Member {
  readonly context: string;
  readonly kernel: string;
  readonly nick: string;
  readonly instance: string;
}

/** The conversations of a kernel and who is in them. */
export class Contexts {
  readonly #store: Store;
  readonly #kernel: string;
  readonly #clock: Clock;
  readonly #announce: (notice: Notice<"context">) => void;
  readonly #known = new Set<string>();
  readonly #creating = new KeyedQueue();

  constructor(
    store: Store,
    kernel: string,
    clock: Clock,
    announce: (notice: Notice<"context">) => void,
  ) {
    this.#store = store;
    this.#kernel = kernel;
    this.#clock = clock;
    this.#announce = announce;
  }

  async create(context: string, by: string): Promise<ContextInfo> {
    checkIdPart(context, "The context");
    return this.#creating.run([context], () => this.#create(context, by));
  }

  async list(): Promise<ContextInfo[]> {
    const entries = await this.#store.list(SPACE);
    return entries.map(({ value }) => JSON.parse(value) as ContextInfo);
  }

  async check(context: string): Promise<void> {
    if (this.#known.has(context)) return;
    if (!(await this.#has(context))) {
      const known = (await this.#store.list(SPACE)).map(({ key }) => key);
      throw new KumikoError(
        "unknown_context",
        `There is no context ${context}` +
          (known.length > 0 ? `; there are: ${known.join(", ")}.` : " yet; create one first."),
        { context, contexts: known },
      );
    }
    this.#known.add(context);
  }

  /** One whose entry is damaged is there all the same: its blocks can be used. */
  async #has(context: string): Promise<boolean> {
    try {
      return (await this.#store.get(SPACE, context)) !== undefined;
    } catch (error) {
      if (isDamage(error)) return true;
      throw error;
    }
  }

  async join(context: string, nick: string, instance: string): Promise<Member> {
    await this.check(context);
    checkIdPart(nick, "The nick");
    checkIdPart(instance, "The instance");
    const member: Member = { context, kernel: this.#kernel, nick, instance };
    await this.#store.put(MEMBERS, memberKey(member), JSON.stringify(member));
    this.#announce({ kind: "joined", context, nick, instance });
    return member;
  }

  /** False when they were not there. */
  async leave(member: Member): Promise<boolean> {
    const { context, nick, instance } = member;
    await this.check(context);
    const key = memberKey(member);
    if ((await this.#store.get(MEMBERS, key)) === undefined) return false;
    await this.#store.put(MEMBERS, key, undefined);
    this.#announce({ kind: "left", context, nick, instance });
    return true;
  }

  async members(context: string): Promise<Member[]> {
    await this.check(context);
    const entries = await this.#store.list(MEMBERS);
    return entries
      .map(({ value }) => JSON.parse(value) as Member)
      .filter((member) => member.context === context);
  }

  async #create(context: string, by: string): Promise<ContextInfo> {
    if ((await this.#store.get(SPACE, context)) !== undefined) {
      throw new KumikoError("already_exists", `There is already a context ${context}.`, {
        context,
      });
    }
    const info: ContextInfo = { context, created: this.#clock.now(), by };
    await this.#store.put(SPACE, context, JSON.stringify(info));
    this.#announce({ kind: "created", context, by });
    return info;
  }
}

function memberKey({ context, nick, instance }: Member): string {
  return `${context}/${nick}/${instance}`;
}
