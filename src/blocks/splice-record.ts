import { damaged, IntColumn } from "../base/index.ts";
import type { Deletion } from "./holds.ts";
import { InsertStore } from "./insert-store.ts";
import type { Places, Special, Splice, Stamp } from "./types.ts";

/** A splice that removed and inserted: the death numbers and the counters that it gave. */
export interface Replacement extends Deletion {
  readonly counterFrom: number;
  readonly counterTo: number;
}

/** A stamp without its time: neighbouring commits of one actor and Edit share it. */
export interface SharedStamp {
  readonly editIndex: number;
  readonly actor: string;
  readonly tool: string | undefined;
  readonly call: string | undefined;
  readonly message: string | undefined;
  readonly model: string | undefined;
  readonly turn: string | undefined;
}

/**
 * What happened to one text, in version order: plain data, append-only, everything else (text, index,
 * Loro document) is a function of it.
 *
 * Every unit ever inserted has a counter, every deletion of a unit a death number; both grow with the
 * version, so the version is found from them and neighbouring units need no note of their own. Flips
 * insert and delete nothing in this sense: they only show and hide units that have their counters.
 */
export class SpliceRecord {
  readonly inserted = new InsertStore();
  readonly specials = new Map<number, Special>();
  /** Versions at which the Loro document was brought up to date: replay must pause at the same ones. */
  readonly marks = new IntColumn();
  /** Of splices whose text stands behind hidden units that follow the visible unit before it: behind how many. */
  readonly places = new Map<number, number>();
  /** Which peer wrote from which version on. */
  readonly peers: { readonly from: number; readonly peer: string }[] = [];
  readonly stamps: SharedStamp[] = [];
  readonly times: number[] = [];
  readonly editIds: string[] = [];
  readonly editActors: string[] = [];

  readonly #spliceEnds = new IntColumn();
  readonly #ats = new IntColumn();
  readonly #removes = new IntColumn();
  readonly #insertLengths = new IntColumn();
  readonly #counterEnds = new IntColumn();
  readonly #deathEnds = new IntColumn();
  readonly #stampIndexes = new IntColumn();
  readonly #editFirst = new IntColumn();
  readonly #editLast = new IntColumn();
  readonly #editIndexes = new Map<string, number>();
  #lastStamp = -1;
  #deaths = 0;

  get version(): number {
    return this.times.length;
  }

  /** Death numbers given so far. */
  get deaths(): number {
    return this.#deaths;
  }

  append(splices: readonly Splice[], stamp: Stamp, special?: Special, places?: Places): void {
    const stampIndex = this.#internStamp(stamp);
    const version = this.times.length + 1;
    if (special !== undefined) this.specials.set(version, special);
    if (special?.kind !== "flip") {
      for (let i = 0; i < splices.length; i++) {
        const { at, remove, insert } = splices[i]!;
        if (places !== undefined) this.place(this.#ats.length, places[i] ?? 0);
        this.#ats.push(at);
        this.#removes.push(remove);
        this.#insertLengths.push(insert.length);
        if (insert !== "") this.inserted.append(insert);
        this.#deaths += remove;
      }
    }
    this.#spliceEnds.push(this.#ats.length);
    this.#counterEnds.push(this.inserted.length);
    this.#deathEnds.push(this.#deaths);
    this.#stampIndexes.push(stampIndex);
    this.times.push(stamp.time);
    this.#editLast.set(this.stamps[stampIndex]!.editIndex, version);
  }

  /** Whether it is the last commit's stamp again, but for the time. */
  repeats(stamp: Stamp): boolean {
    const last = this.stamps[this.#lastStamp];
    return last !== undefined && this.#sameStamp(last, stamp);
  }

  #internStamp(stamp: Stamp): number {
    if (this.repeats(stamp)) return this.#lastStamp;
    let editIndex = this.#editIndexes.get(stamp.edit);
    if (editIndex === undefined) {
      editIndex = this.editIds.length;
      this.#editIndexes.set(stamp.edit, editIndex);
      this.editIds.push(stamp.edit);
      this.editActors.push(stamp.actor);
      this.#editFirst.push(this.version + 1);
      this.#editLast.push(this.version + 1);
    } else {
      // Two actors who take turns would otherwise add a stamp with every commit.
      const candidate = this.#stampIndexes.at(this.#editLast.at(editIndex) - 1);
      if (this.#sameStamp(this.stamps[candidate]!, stamp)) return (this.#lastStamp = candidate);
    }
    const { actor, tool, call, message, model, turn } = stamp;
    this.stamps.push({ editIndex, actor, tool, call, message, model, turn });
    return (this.#lastStamp = this.stamps.length - 1);
  }

  #sameStamp(known: SharedStamp, stamp: Stamp): boolean {
    return (
      this.editIds[known.editIndex] === stamp.edit &&
      known.actor === stamp.actor &&
      known.tool === stamp.tool &&
      known.call === stamp.call &&
      known.message === stamp.message &&
      known.model === stamp.model &&
      known.turn === stamp.turn
    );
  }

  /** The splices a version made. */
  splicesOf(version: number): Splice[] {
    const special = this.specials.get(version);
    if (special?.kind === "flip") return [...special.splices];
    const splices: Splice[] = [];
    let counter = this.counterEnd(version - 1);
    for (let i = this.spliceEnd(version - 1); i < this.spliceEnd(version); i++) {
      const length = this.#insertLengths.at(i);
      const insert = length === 0 ? "" : this.inserted.slice(counter, counter + length);
      splices.push({ at: this.#ats.at(i), remove: this.#removes.at(i), insert });
      counter += length;
    }
    return splices;
  }

  spliceEnd(version: number): number {
    return version === 0 ? 0 : this.#spliceEnds.at(version - 1);
  }

  spliceAt(index: number): number {
    return this.#ats.at(index);
  }

  spliceRemove(index: number): number {
    return this.#removes.at(index);
  }

  spliceInsertLength(index: number): number {
    return this.#insertLengths.at(index);
  }

  /** Behind how many hidden units a splice's text stands. */
  placeOf(index: number): number {
    return this.places.size === 0 ? 0 : (this.places.get(index) ?? 0);
  }

  place(index: number, hidden: number): void {
    if (hidden > 0) this.places.set(index, hidden);
  }

  /** Of each splice of a version; undefined when none stands behind any. */
  placesOf(version: number): Places {
    const places: number[] = [];
    for (let i = this.spliceEnd(version - 1); i < this.spliceEnd(version); i++)
      places.push(this.placeOf(i));
    return places.some((hidden) => hidden > 0) ? places : undefined;
  }

  /** How many units had been inserted when `version` was made. */
  counterEnd(version: number): number {
    return version === 0 ? 0 : this.#counterEnds.at(version - 1);
  }

  deathEnd(version: number): number {
    return version === 0 ? 0 : this.#deathEnds.at(version - 1);
  }

  /** The versions that inserted the counters, or gave the death numbers, from `start` to `end` (exclusive). */
  versionsThat(what: "inserted" | "deleted", start: number, end: number): number[] {
    const ends = what === "inserted" ? this.#counterEnds : this.#deathEnds;
    const versions: number[] = [];
    for (let at = start; at < end;) {
      const index = ends.firstAbove(at);
      versions.push(index + 1);
      at = ends.at(index);
    }
    return versions;
  }

  /** Of version v at index v - 1, for loops over very many versions. */
  get counterEnds(): Readonly<Int32Array> {
    return this.#counterEnds.values;
  }

  get stampIndexes(): Readonly<Int32Array> {
    return this.#stampIndexes.values;
  }

  versionOfCounter(counter: number): number {
    return this.#counterEnds.firstAbove(counter) + 1;
  }

  versionOfDeath(death: number): number {
    return this.#deathEnds.firstAbove(death) + 1;
  }

  editOfDeath(death: number): number {
    return this.editOf(this.versionOfDeath(death));
  }

  /** The deletion that gave a death number. */
  deletionOf(death: number): Deletion {
    if (death < 0 || death >= this.#deaths) throw damaged(`there is no deletion ${death}`);
    const version = this.versionOfDeath(death);
    let first = this.deathEnd(version - 1);
    for (let i = this.spliceEnd(version - 1); ; i++) {
      const end = first + this.#removes.at(i);
      if (death < end) return { first, end };
      first = end;
    }
  }

  /** The splices of a version that removed and inserted. */
  replacementsOf(version: number): Replacement[] {
    const found: Replacement[] = [];
    let first = this.deathEnd(version - 1);
    let counterFrom = this.counterEnd(version - 1);
    for (let i = this.spliceEnd(version - 1); i < this.spliceEnd(version); i++) {
      const end = first + this.#removes.at(i);
      const counterTo = counterFrom + this.#insertLengths.at(i);
      if (end > first && counterTo > counterFrom)
        found.push({ first, end, counterFrom, counterTo });
      first = end;
      counterFrom = counterTo;
    }
    return found;
  }

  stampIndexOf(version: number): number {
    return this.#stampIndexes.at(version - 1);
  }

  stampOf(version: number): SharedStamp {
    return this.stamps[this.#stampIndexes.at(version - 1)]!;
  }

  editOf(version: number): number {
    return this.stamps[this.#stampIndexes.at(version - 1)]!.editIndex;
  }

  editIndex(id: string): number | undefined {
    // Typing goes on under the Edit of the last commit: that one need not be looked up.
    const last = this.stamps[this.#lastStamp]?.editIndex;
    return last !== undefined && this.editIds[last] === id ? last : this.#editIndexes.get(id);
  }

  /** The versions of an Edit lie between these two; others may lie between as well. */
  editSpan(editIndex: number): [first: number, last: number] {
    return [this.#editFirst.at(editIndex), this.#editLast.at(editIndex)];
  }

  /** A peer is on record from the first version it writes. */
  enterPeer(peer: string): void {
    if (this.peers.at(-1)?.peer !== peer) this.peers.push({ from: this.version + 1, peer });
  }

  isMarked(version: number): boolean {
    const index = this.marks.firstAbove(version) - 1;
    return index >= 0 && this.marks.at(index) === version;
  }

  /** The peer that writes `version`, and the last version it writes before another takes over. */
  peerAt(version: number): { peer: string; until: number } | undefined {
    for (let i = this.peers.length - 1; i >= 0; i--) {
      const { from, peer } = this.peers[i]!;
      if (from <= version) return { peer, until: (this.peers[i + 1]?.from ?? Infinity) - 1 };
    }
    return undefined;
  }
}
