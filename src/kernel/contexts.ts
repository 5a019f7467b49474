import { checkIdPart, type Clock, KeyedQueue, KumikoError } from "../base/index.ts";
import type { Notice } from "../protocol/index.ts";
import { type Authorise, checkAllowed } from "./gate.ts";
import type { Store } from "./ports.ts";
import { isDamage } from "./quarantine.ts";

const SPACE = "contexts";
const MEMBERS = "members";

export interface ContextInfo {
  readonly context: string;
  /** Null when the entry is damaged. */
  readonly created: number | null;
  readonly by: string | null;
  /** Why the entry cannot be read: the blocks of the context can be used all the same. */
  readonly damaged?: string;
}

/** Who joined what: a nickname and an instance, so that one person may be there twice. */
export interface Member {
  readonly context: string;
  readonly kernel: string;
  readonly nick: string;
  readonly instance: string;
}

export interface ContextsPorts {
  readonly store: Store;
  readonly kernel: string;
  readonly clock: Clock;
  readonly authorise: Authorise;
  announce(notice: Notice<"context">): void;
  /** Told of an entry that cannot be read and is done without. */
  damaged(error: KumikoError): void;
}

type Entry =
  | { readonly key: string; readonly value: string }
  | { readonly key: string; readonly damaged: string };

/** The conversations of a kernel and who is in them. */
export class Contexts {
  readonly #ports: ContextsPorts;
  readonly #known = new Set<string>();
  readonly #creating = new KeyedQueue();

  constructor(ports: ContextsPorts) {
    this.#ports = ports;
  }

  async create(context: string, by: string): Promise<ContextInfo> {
    checkIdPart(context, "The context");
    await checkAllowed(this.#ports.authorise, by, "create_context", [context]);
    return this.#creating.run([context], () => this.#create(context, by));
  }

  /** All of them; one whose entry is damaged says so. */
  async list(): Promise<ContextInfo[]> {
    return (await this.#entries(SPACE)).map((entry) =>
      "value" in entry
        ? (JSON.parse(entry.value) as ContextInfo)
        : { context: entry.key, created: null, by: null, damaged: entry.damaged },
    );
  }

  async check(context: string): Promise<void> {
    if (this.#known.has(context)) return;
    if (!(await this.#has(SPACE, context))) {
      const known = (await this.#entries(SPACE)).map(({ key }) => key);
      throw new KumikoError(
        "unknown_context",
        `There is no context ${context}` +
          (known.length > 0 ? `; there are: ${known.join(", ")}.` : " yet; create one first."),
        { context, contexts: known },
      );
    }
    this.#known.add(context);
  }

  /** `by` is who acts: a nick is only a name. */
  async join(
    context: string,
    { nick, instance, by }: { nick: string; instance: string; by: string },
  ): Promise<Member> {
    await this.check(context);
    checkIdPart(nick, "The nick");
    checkIdPart(instance, "The instance");
    const { store, kernel, authorise } = this.#ports;
    await checkAllowed(authorise, by, "join_context", [context]);
    const member: Member = { context, kernel, nick, instance };
    await store.put(MEMBERS, memberKey(member), JSON.stringify(member));
    this.#ports.announce({ kind: "joined", context, nick, instance });
    return member;
  }

  /** False when they were not there. */
  async leave(member: Member, by: string): Promise<boolean> {
    const { context, nick, instance } = member;
    await this.check(context);
    const { store, authorise } = this.#ports;
    await checkAllowed(authorise, by, "leave_context", [context]);
    const key = memberKey(member);
    if (!(await this.#has(MEMBERS, key))) return false;
    await store.put(MEMBERS, key, undefined);
    this.#ports.announce({ kind: "left", context, nick, instance });
    return true;
  }

  async members(context: string): Promise<Member[]> {
    await this.check(context);
    const entries = await this.#entries(MEMBERS);
    return entries
      .map(({ key }) => this.#memberOf(key))
      .filter((member) => member.context === context);
  }

  /** A key says all there is to a member, so that a damaged value hides nobody. */
  #memberOf(key: string): Member {
    const [context = "", nick = "", instance = ""] = key.split("/");
    return { context, kernel: this.#ports.kernel, nick, instance };
  }

  async #create(context: string, by: string): Promise<ContextInfo> {
    if (await this.#has(SPACE, context)) {
      throw new KumikoError("already_exists", `There is already a context ${context}.`, {
        context,
      });
    }
    const { store, clock } = this.#ports;
    const info = { context, created: clock.now(), by };
    await store.put(SPACE, context, JSON.stringify(info));
    this.#ports.announce({ kind: "created", context, by });
    return info;
  }

  /** What is damaged is there all the same. */
  async #has(space: string, key: string): Promise<boolean> {
    try {
      return (await this.#ports.store.get(space, key)) !== undefined;
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#ports.damaged(error);
      return true;
    }
  }

  /** Damaged ones included, each told of. */
  async #entries(space: string): Promise<Entry[]> {
    const { store } = this.#ports;
    try {
      return await store.list(space);
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
    // One by one, they are told apart.
    const entries: Entry[] = [];
    let after: string | undefined;
    for (;;) {
      try {
        const [entry] = await store.list(space, { after, limit: 1 });
        if (entry === undefined) return entries;
        entries.push(entry);
        after = entry.key;
      } catch (error) {
        const behind = isDamage(error) ? error.facts["after"] : undefined;
        if (!isDamage(error) || typeof behind !== "string") throw error;
        this.#ports.damaged(error);
        entries.push({ key: behind, damaged: error.message });
        after = behind;
      }
    }
  }
}

function memberKey({ context, nick, instance }: Member): string {
  return `${context}/${nick}/${instance}`;
}
