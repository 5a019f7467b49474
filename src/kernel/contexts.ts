import { checkIdPart, type Clock, KumikoError } from "../base/index.ts";
import type { Store } from "./ports.ts";

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
  readonly #known = new Set<string>();

  constructor(store: Store, kernel: string, clock: Clock) {
    this.#store = store;
    this.#kernel = kernel;
    this.#clock = clock;
  }

  async create(context: string, by: string): Promise<ContextInfo> {
    checkIdPart(context, "The context");
    if ((await this.#store.get(SPACE, context)) !== undefined) {
      throw new KumikoError("already_exists", `There is already a context ${context}.`, {
        context,
      });
    }
    const info: ContextInfo = { context, created: this.#clock.now(), by };
    await this.#store.put(SPACE, context, JSON.stringify(info));
    return info;
  }

  async list(): Promise<ContextInfo[]> {
    const entries = await this.#store.list(SPACE);
    return entries.map(({ value }) => JSON.parse(value) as ContextInfo);
  }

  async check(context: string): Promise<void> {
    if (this.#known.has(context)) return;
    if ((await this.#store.get(SPACE, context)) === undefined) {
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

  async join(context: string, nick: string, instance: string): Promise<Member> {
    await this.check(context);
    checkIdPart(nick, "The nick");
    checkIdPart(instance, "The instance");
    const member: Member = { context, kernel: this.#kernel, nick, instance };
    await this.#store.put(MEMBERS, memberKey(member), JSON.stringify(member));
    return member;
  }

  async leave(member: Member): Promise<void> {
    await this.#store.put(MEMBERS, memberKey(member), undefined);
  }

  async members(context: string): Promise<Member[]> {
    await this.check(context);
    const entries = await this.#store.list(MEMBERS);
    return entries
      .map(({ value }) => JSON.parse(value) as Member)
      .filter((member) => member.context === context);
  }
}

function memberKey({ context, nick, instance }: Member): string {
  return `${context}/${nick}/${instance}`;
}
