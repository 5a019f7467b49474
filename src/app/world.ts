import { randomBytes } from "node:crypto";
import { realTimers } from "../base/index.ts";
import { type DamageReport, World } from "../kernel/index.ts";
import type { HomeFolder } from "./home.ts";

/** A world over a home folder, on this machine's clock, timers and chance. The caller disposes of it. */
export function openWorld(home: HomeFolder, onDamage: (report: DamageReport) => void): World {
  return new World({
    folders: home,
    clock: { now: () => Date.now() },
    timers: realTimers,
    newPeer: randomPeer,
    // What other sockets have to say is read before a group is written.
    turn: () => new Promise((resolve) => setImmediate(resolve)),
    onDamage,
  });
}

/** 63 random bits: a peer id is never given twice, by whichever process. */
function randomPeer(): string {
  return (randomBytes(8).readBigUInt64BE() >> 1n).toString();
}
