import { describe } from "vitest";
import { batchTests } from "./batches.ts";
import { editTests } from "./edits.ts";
import { journalTests } from "./journal.ts";
import { leaseTests } from "./leases.ts";
import { randomTests } from "./random.ts";
import { rewriteTests } from "./rewrite.ts";
import { rowTests } from "./rows.ts";
import { searchTests } from "./search.ts";
import type { NewWorld } from "./support.ts";
import { valueTests } from "./values.ts";

/**
 * What every store must do, through the port alone.
 * @param fullRuns how many random histories the full test compares with the model
 */
export function describeStore(name: string, world: NewWorld, fullRuns: number): void {
  describe(`${name}: batches`, () => {
    batchTests(world);
  });
  describe(`${name}: the journal`, () => {
    journalTests(world);
  });
  describe(`${name}: rows`, () => {
    rowTests(world);
  });
  describe(`${name}: values`, () => {
    valueTests(world);
  });
  describe(`${name}: leases`, () => {
    leaseTests(world);
  });
  describe(`${name}: Edits`, () => {
    editTests(world, fullRuns);
  });
  describe(`${name}: rewriting`, () => {
    rewriteTests(world);
  });
  describe(`${name}: search`, () => {
    searchTests(world, fullRuns * 10);
  });
  describe(`${name}: random histories`, () => {
    randomTests(world, fullRuns);
  });
}
