import type { Timers } from "../../base/index.ts";
import type { Presence, PresenceChange, PresenceEntry } from "../../protocol/index.ts";

/** What changes within this many milliseconds is told at once. */
const GATHER = 30;
/** What a tool call said of its actor is forgotten after this. */
const NOTE = 30_000;
/** Who is here at once, per kernel. */
const MOST = 2_000;

/** Somebody who wants to know who is where. */
export interface PresenceWatcher {
  changed(change: PresenceChange): void;
}

interface Room {
  readonly entries: Map<string, PresenceEntry>;
  readonly watchers: Set<PresenceWatcher>;
  readonly changed: Set<string>;
  timer: { cancel(): void } | undefined;
}

/** Who is in which kernel, where and doing what. Kept nowhere; what a connection says ends with it. */
export class PresenceBoard {
  readonly #timers: Timers;
  readonly #rooms = new Map<string, Room>();
  readonly #notes = new Map<string, { cancel(): void }>();

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Everybody who is there, and from then on whatever changes. */
  watch(kernel: string, watcher: PresenceWatcher): Disposable {
    const room = this.#room(kernel);
    room.watchers.add(watcher);
    if (room.entries.size > 0) watcher.changed({ here: [...room.entries.values()], gone: [] });
    return {
      [Symbol.dispose]: () => {
        room.watchers.delete(watcher);
        this.#leaveEmpty(kernel, room);
      },
    };
  }

  put(kernel: string, entry: PresenceEntry): void {
    const room = this.#room(kernel);
    if (!room.entries.has(entry.key) && room.entries.size >= MOST) return;
    room.entries.set(entry.key, entry);
    this.#changed(room, entry.key);
  }

  remove(kernel: string, key: string): void {
    const room = this.#rooms.get(kernel);
    if (room === undefined || !room.entries.delete(key)) return;
    this.#changed(room, key);
    this.#leaveEmpty(kernel, room);
  }

  /** What an actor without a connection of its own does: an agent that calls tools. */
  note(
    kernel: string,
    who: Pick<PresenceEntry, "actor" | "kind">,
    presence: Pick<Presence, "activity" | "block">,
  ): void {
    const key = `note ${who.actor}`;
    const timer = `${kernel} ${key}`;
    this.#notes.get(timer)?.cancel();
    this.put(kernel, { key, actor: who.actor, kind: who.kind, presence });
    this.#notes.set(
      timer,
      this.#timers.after(NOTE, () => {
        this.#notes.delete(timer);
        this.remove(kernel, key);
      }),
    );
  }

  #room(kernel: string): Room {
    const known = this.#rooms.get(kernel);
    if (known !== undefined) return known;
    const room: Room = {
      entries: new Map(),
      watchers: new Set(),
      changed: new Set(),
      timer: undefined,
    };
    this.#rooms.set(kernel, room);
    return room;
  }

  #changed(room: Room, key: string): void {
    room.changed.add(key);
    room.timer ??= this.#timers.after(GATHER, () => {
      room.timer = undefined;
      const keys = [...room.changed];
      room.changed.clear();
      const here = keys.flatMap((each) => room.entries.get(each) ?? []);
      const gone = keys.filter((each) => !room.entries.has(each));
      for (const watcher of room.watchers) watcher.changed({ here, gone });
    });
  }

  #leaveEmpty(kernel: string, room: Room): void {
    if (room.entries.size > 0 || room.watchers.size > 0) return;
    room.timer?.cancel();
    if (this.#rooms.get(kernel) === room) this.#rooms.delete(kernel);
  }
}
