import type { Timers } from "../../base/index.ts";
import {
  encodeServerFrame,
  type Presence,
  type PresenceEntry,
  replicaLimits,
} from "../../protocol/index.ts";

/** What changes within this many milliseconds is told at once; with many watchers, within so many for each of them. */
const GATHER = 30;
const GATHER_EACH = 0.5;
/** Bytes that all watchers together are told in a millisecond; the rest waits for its turn. */
const PACE = 64 * 1024;
/** Bytes in one frame, give or take the last entry. */
const FRAME = replicaLimits.part / 2;
/** What a tool call said of its actor is forgotten after this. */
const NOTE = 30_000;
/** Who is here at once, per kernel. */
const MOST = 2_000;

/** Somebody who wants to know who is where. */
export interface PresenceWatcher {
  /** A frame for all of them, in which each finds itself too. */
  changed(frame: Uint8Array): void;
}

interface Room {
  /** As JSON, which is made once for everybody. */
  readonly entries: Map<string, string>;
  readonly watchers: Set<PresenceWatcher>;
  readonly changed: Set<string>;
  timer: { cancel(): void } | undefined;
}

/** Who is in which kernel, where and doing what. Kept nowhere; what a connection says ends with it. */
export class PresenceBoard implements Disposable {
  readonly #timers: Timers;
  readonly #rooms = new Map<string, Room>();
  readonly #notes = new Map<string, { cancel(): void }>();

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Whatever changes from then on. */
  watch(kernel: string, watcher: PresenceWatcher): Disposable {
    const room = this.#room(kernel);
    room.watchers.add(watcher);
    return {
      [Symbol.dispose]: () => {
        room.watchers.delete(watcher);
        this.#leaveEmpty(kernel, room);
      },
    };
  }

  /** Frames of all who are there. Each is made when it is asked for: what a watcher was told before is older. */
  *everybody(kernel: string): Generator<Uint8Array> {
    const { entries } = this.#rooms.get(kernel) ?? { entries: new Map<string, string>() };
    let here: string[] = [];
    let size = 0;
    for (const json of entries.values()) {
      here.push(json);
      size += Buffer.byteLength(json);
      if (size < FRAME) continue;
      yield frameOf(here, []);
      here = [];
      size = 0;
    }
    if (here.length > 0) yield frameOf(here, []);
  }

  put(kernel: string, entry: PresenceEntry): void {
    const room = this.#room(kernel);
    if (!room.entries.has(entry.key) && room.entries.size >= MOST) return;
    room.entries.set(entry.key, JSON.stringify(entry));
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

  /** A note that is still to be forgotten would keep the process from ending. */
  [Symbol.dispose](): void {
    for (const note of this.#notes.values()) note.cancel();
    for (const { timer } of this.#rooms.values()) timer?.cancel();
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
    this.#tellSoon(room);
  }

  #tellSoon(room: Room): void {
    const wait = Math.max(GATHER, GATHER_EACH * room.watchers.size);
    room.timer ??= this.#timers.after(wait, () => {
      room.timer = undefined;
      this.#tell(room, Math.min(FRAME, (wait * PACE) / Math.max(1, room.watchers.size)));
      if (room.changed.size > 0) this.#tellSoon(room);
    });
  }

  /** Tells what changed first, up to a size. */
  #tell(room: Room, most: number): void {
    const here: string[] = [];
    const gone: string[] = [];
    let size = 0;
    for (const key of room.changed) {
      room.changed.delete(key);
      const json = room.entries.get(key);
      if (json === undefined) gone.push(key);
      else here.push(json);
      size += Buffer.byteLength(json ?? key);
      if (size >= most) break;
    }
    const frame = frameOf(here, gone);
    for (const watcher of room.watchers) watcher.changed(frame);
  }

  #leaveEmpty(kernel: string, room: Room): void {
    if (room.entries.size > 0 || room.watchers.size > 0) return;
    room.timer?.cancel();
    if (this.#rooms.get(kernel) === room) this.#rooms.delete(kernel);
  }
}

function frameOf(here: readonly string[], gone: readonly string[]): Uint8Array {
  const json = `{"here":[${here.join(",")}],"gone":${JSON.stringify(gone)}}`;
  return encodeServerFrame({ kind: "presence", json });
}
