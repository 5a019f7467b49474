import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Principal, Scope } from "../src/doors/principal.ts";
import { RateLimits } from "../src/doors/rate-limits.ts";
import { grantOf } from "../src/doors/tokens/minting.ts";
import { withoutSecrets } from "../src/doors/tokens/secret.ts";
import { TokenStore } from "../src/doors/tokens/token-store.ts";
import type { TokenKind, TokenRequest } from "../src/protocol/index.ts";
import { fcOptions } from "./support/counts.ts";
import { FakeTime } from "./support/kernel-workshop.ts";
import { command } from "./support/kumiko.ts";
import { runProgram } from "./support/process.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

interface Opened extends Disposable {
  readonly time: FakeTime;
  readonly store: TokenStore;
  readonly owner: { token: string; principal: Principal };
  readonly troubles: unknown[];
  /** Another process's. */
  again(): Promise<TokenStore>;
}

async function opened(): Promise<Opened> {
  const stack = new DisposableStack();
  const { path } = stack.use(temporaryFolder());
  const time = new FakeTime();
  const troubles: unknown[] = [];
  const { clock, timers } = time;
  const onTrouble = (error: unknown): void => void troubles.push(error);
  const again = async (): Promise<TokenStore> =>
    stack.use(await TokenStore.open(path, { clock, timers, onTrouble }));
  const store = await again();
  const { token } = await store.mintOwner("ann");
  const owner = { token, principal: await store.authenticate(token) };
  return { time, store, owner, troubles, again, [Symbol.dispose]: () => stack.dispose() };
}

const refused = { code: "unauthorised" };

/** Resolves when the signal has aborted. */
async function aborted(signal: AbortSignal): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  if (!signal.aborted) await promise;
  return signal.reason;
}

describe("tokens", () => {
  test("are kept as hashes, for their owner only, and shown once", async () => {
    using at = await opened();
    const { token, info } = await at.store.mint(at.owner.principal, { label: "x" });
    const file = readFileSync(at.store.file, "utf8");
    for (const secret of [token, at.owner.token].map((each) => each.split("_").slice(2).join("_")))
      expect(file).not.toContain(secret);
    expect(file).toContain(info.id);
    expect(statSync(at.store.file).mode & 0o777).toBe(0o600);
    expect(JSON.stringify(at.store.list(at.owner.principal))).not.toMatch(/hash|secret/);
  });

  test("are for nobody who is called what the kernel calls itself", async () => {
    using at = await opened();
    for (const actor of ["disk", "system"])
      await expect(at.store.mint(at.owner.principal, { actor })).rejects.toMatchObject({
        code: "invalid_argument",
        facts: { value: actor },
      });
    expect((await at.store.mint(at.owner.principal, { actor: "disks" })).info.actor).toBe("disks");
  });

  test("are recognised whole or not at all", async () => {
    using at = await opened();
    const { token } = await at.store.mint(at.owner.principal, {});
    expect((await at.store.authenticate(token)).actor).toBe("ann");
    await fc.assert(
      fc.asyncProperty(
        fc.nat(token.length - 1),
        fc.string({ maxLength: 2 }),
        async (place, other) => {
          const bent = token.slice(0, place) + other + token.slice(place + 1);
          if (bent === token) return;
          await expect(at.store.authenticate(bent)).rejects.toMatchObject(refused);
        },
      ),
      fcOptions(1000),
    );
  });

  test("are known to another process at once, and unknown within half a second", async () => {
    using at = await opened();
    const other = await at.again();
    const { token, info } = await at.store.mint(at.owner.principal, {});
    const principal = await other.authenticate(token);
    await at.store.revoke(at.owner.principal, info.id);
    expect(principal.signal.aborted).toBe(false);
    at.time.pass(500);
    expect(await aborted(principal.signal)).toMatchObject({
      code: "unauthorised",
      facts: { token: info.id },
    });
    await expect(other.authenticate(token)).rejects.toMatchObject(refused);
  });

  test("end when they expire, by the clock and not by a timer that slept", async () => {
    using at = await opened();
    const expires = at.time.now + 60_000;
    const { token } = await at.store.mint(at.owner.principal, { expires });
    const principal = await at.store.authenticate(token);
    at.time.now = expires - 1;
    expect((await at.store.authenticate(token)).signal.aborted).toBe(false);
    at.time.now = expires;
    await expect(at.store.authenticate(token)).rejects.toMatchObject(refused);
    expect(principal.signal.aborted).toBe(true);
    const second = await at.store.mint(at.owner.principal, { expires: expires + 1000 });
    const waiting = await at.store.authenticate(second.token);
    at.time.pass(1500);
    expect(await aborted(waiting.signal)).toMatchObject(refused);
  });

  test("a damaged file lets nobody in, and says so", async () => {
    using at = await opened();
    for (const text of [
      "",
      "{",
      '{"format":2,"tokens":[]}',
      '{"format":1,"tokens":[{"id":"x"}]}',
    ]) {
      const { principal } = at.owner;
      const other = await at.again();
      const seen = await other.authenticate(at.owner.token);
      const before = readFileSync(at.store.file, "utf8");
      writeFileSync(at.store.file, text);
      const unknown = `kumiko_${"a".repeat(12)}_${"A".repeat(43)}`;
      await expect(other.authenticate(unknown)).rejects.toMatchObject(refused);
      expect(at.troubles.splice(0)).toMatchObject([{ code: "damaged" }]);
      expect(seen.signal.aborted).toBe(true);
      await expect(other.authenticate(at.owner.token)).rejects.toMatchObject(refused);
      await expect(at.store.mint(principal, {})).rejects.toMatchObject({ code: "damaged" });
      writeFileSync(at.store.file, before);
    }
  });

  test("a file that is gone is no token at all", async () => {
    using at = await opened();
    const { signal } = at.owner.principal;
    rmSync(at.store.file);
    at.time.pass(500);
    expect(await aborted(signal)).toMatchObject(refused);
  });

  test("many processes mint at once and none is lost", async () => {
    using folder = temporaryFolder();
    const env = { ...process.env, KUMIKO_HOME: folder.path };
    const args = (label: number) => [
      command,
      "token",
      "new",
      "--for",
      "bot",
      "--json",
      "--label",
      String(label),
    ];
    const made = await Promise.all(
      [1, 2, 3, 4].map((label) => runProgram(process.execPath, args(label), { env })),
    );
    expect(made.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    const listed = await runProgram(process.execPath, [command, "token", "list", "--json"], {
      env,
    });
    const { tokens } = JSON.parse(listed.stdout) as { tokens: { label: string }[] };
    const labels = tokens.map(({ label }) => label).filter((label) => /\d/.test(label));
    expect(labels.toSorted()).toEqual(["1", "2", "3", "4"]);
    expect(statSync(join(folder.path, "owner.token")).mode & 0o777).toBe(0o600);
  });
});

const scopes: readonly Scope[] = ["read", "write", "admin", "mint", "act_as"];
const anyScopes = fc.subarray([...scopes]);
const anyKernels = fc.option(fc.subarray(["a", "b", "c"], { minLength: 1 }), { nil: undefined });
const anyKind = fc.constantFrom<TokenKind>("person", "agent", "service");
const anyExpiry = fc.option(fc.integer({ min: 1, max: 10 }), { nil: undefined });
const anyActor = fc.constantFrom("ann", "bob");

const anyPrincipal = fc.record({
  kind: anyKind,
  actor: anyActor,
  scopes: anyScopes,
  kernels: anyKernels,
  expires: anyExpiry,
});
const anyRequest: fc.Arbitrary<TokenRequest> = fc.record(
  {
    kind: anyKind,
    actor: anyActor,
    scopes: fc.subarray([...scopes], { minLength: 1 }),
    kernels: fc.subarray(["a", "b", "c"], { minLength: 1 }),
    expires: fc.integer({ min: 1, max: 10 }),
    label: fc.string({ maxLength: 5 }),
  },
  { requiredKeys: [] },
);

describe("minting", () => {
  test("gives at most what the minting token has, in every dimension, and all that it may", () => {
    let given = 0;
    const refusedFor = new Set<string>();
    fc.assert(
      fc.property(anyPrincipal, anyRequest, (own, request) => {
        const by: Principal = {
          token: "by",
          kind: own.kind,
          actor: own.actor,
          scopes: new Set(own.scopes),
          kernels: own.kernels,
          signal: new AbortController().signal,
        };
        const may = {
          mint: own.scopes.includes("mint"),
          kind: own.kind === "person" || (request.kind ?? own.kind) === own.kind,
          actor: (request.actor ?? own.actor) === own.actor || own.scopes.includes("act_as"),
          scopes: (request.scopes ?? []).every((scope) => own.scopes.includes(scope)),
          kernels: (request.kernels ?? []).every((each) => own.kernels?.includes(each) ?? true),
          expires: (request.expires ?? 0) <= (own.expires ?? Infinity),
        };
        const clock = { now: () => 0 };
        if (!Object.values(may).every(Boolean)) {
          for (const [name, fine] of Object.entries(may)) if (!fine) refusedFor.add(name);
          expect(() => grantOf(by, own.expires ?? null, request, clock)).toThrow(
            expect.objectContaining({ code: "forbidden" }),
          );
          return;
        }
        const grant = grantOf(by, own.expires ?? null, request, clock);
        given += 1;
        expect(grant.scopes.every((scope) => own.scopes.includes(scope))).toBe(true);
        expect(grant.scopes).toEqual(
          request.scopes ?? ["read", "write"].filter((each) => own.scopes.includes(each as Scope)),
        );
        expect(grant.kernels).toEqual(request.kernels ?? own.kernels ?? null);
        expect(grant.expires).toBe(request.expires ?? own.expires ?? null);
        if (own.expires !== undefined) expect(grant.expires).toBeLessThanOrEqual(own.expires);
        if (grant.kind === "person") expect(own.kind).toBe("person");
        if (grant.actor !== own.actor) expect(own.scopes).toContain("act_as");
      }),
      fcOptions(20_000),
    );
    expect(given).toBeGreaterThan(20);
    expect([...refusedFor].toSorted()).toEqual(
      ["actor", "expires", "kernels", "kind", "mint", "scopes"].toSorted(),
    );
  });

  test("chains never gain anything, and revoking one revokes all below it and nothing else", async () => {
    using at = await opened();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(), anyRequest), { minLength: 1, maxLength: 12 }),
        fc.nat(),
        async (steps, chosen) => {
          const root = await at.store.mint(at.owner.principal, {
            kind: "person",
            scopes: [...scopes],
          });
          const tree = [{ ...root, parent: -1 }];
          for (const [which, request] of steps) {
            const parent = which % tree.length;
            const by = await at.store.authenticate(tree[parent]!.token);
            const { expires: _, ...rest } = request;
            try {
              tree.push({ ...(await at.store.mint(by, rest)), parent });
            } catch (error) {
              expect(error).toMatchObject({ code: "forbidden" });
            }
          }
          for (const { info, parent } of tree.slice(1)) {
            const above = tree[parent]!.info;
            expect(info.scopes.every((scope) => above.scopes.includes(scope))).toBe(true);
            expect(info.kernels?.every((each) => above.kernels?.includes(each) ?? true)).not.toBe(
              false,
            );
            expect(info.kernels === null && above.kernels !== null).toBe(false);
            expect(info.kind === "person" && above.kind !== "person").toBe(false);
          }
          const dead = new Set([chosen % tree.length]);
          for (const [index, { parent }] of tree.entries()) if (dead.has(parent)) dead.add(index);
          const principals = await Promise.all(
            tree.map(({ token }) => at.store.authenticate(token)),
          );
          const revoked = await at.store.revoke(
            at.owner.principal,
            tree[chosen % tree.length]!.info.id,
          );
          expect(revoked.toSorted()).toEqual(
            [...dead].map((index) => tree[index]!.info.id).toSorted(),
          );
          for (const [index, { signal }] of principals.entries())
            expect(signal.aborted).toBe(dead.has(index));
          if (!dead.has(0)) await at.store.revoke(at.owner.principal, root.info.id);
        },
      ),
      fcOptions(100),
    );
  });

  test("by who was revoked a moment ago, elsewhere, is refused", async () => {
    using at = await opened();
    const other = await at.again();
    const { token, info } = await at.store.mint(at.owner.principal, { scopes: ["read", "mint"] });
    const stale = await other.authenticate(token);
    await at.store.revoke(at.owner.principal, info.id);
    await expect(other.mint(stale, { scopes: ["read"] })).rejects.toMatchObject(refused);
    await expect(other.exchange(token)).rejects.toMatchObject(refused);
  });

  test("who has no say over a token cannot revoke it, nor learn of it", async () => {
    using at = await opened();
    const first = await at.store.mint(at.owner.principal, { scopes: ["read", "mint"] });
    const second = await at.store.mint(at.owner.principal, { scopes: ["read", "mint"] });
    const by = await at.store.authenticate(first.token);
    const child = await at.store.mint(by, { scopes: ["read"] });
    expect(at.store.list(by).map(({ id }) => id)).toEqual([first.info.id, child.info.id]);
    for (const id of [second.info.id, at.owner.principal.token, "none"])
      await expect(at.store.revoke(by, id)).rejects.toMatchObject({ code: "unknown_token" });
    expect(await at.store.revoke(by, child.info.id)).toEqual([child.info.id]);
  });
});

test("a link is good for one exchange and nothing else", async () => {
  using at = await opened();
  const { token } = await at.store.mintLink(at.owner.principal, "link");
  await expect(at.store.authenticate(token)).rejects.toMatchObject(refused);
  const tries = await Promise.allSettled([1, 2, 3].map(() => at.store.exchange(token)));
  const fine = tries.filter((each) => each.status === "fulfilled");
  expect(fine).toHaveLength(1);
  const session = await at.store.authenticate(fine[0]!.value.token);
  expect(session).toMatchObject({ actor: "ann", kind: "person" });
  // The session is the owner's, not the link's: it stays when the link is gone, and goes with the owner.
  expect(fine[0]!.value.info.minted_by).toBe(at.owner.principal.token);
  // Nothing else is exchanged: that would be minting without the scope for it.
  for (const other of [at.owner.token, fine[0]!.value.token])
    await expect(at.store.exchange(other)).rejects.toMatchObject(refused);
  const late = await at.store.mintLink(at.owner.principal, "link");
  at.time.pass(3_600_000);
  await expect(at.store.exchange(late.token)).rejects.toMatchObject(refused);
});

test("a bucket per token fills steadily", () => {
  const time = new FakeTime();
  const limits = new RateLimits(time.clock, 10);
  const { signal } = new AbortController();
  const principal = { token: "x", signal } as Principal;
  const count = (): number => {
    for (let taken = 0; ; taken++) {
      try {
        limits.take(principal);
      } catch (error) {
        expect(error).toMatchObject({ code: "too_many", facts: { retry_after: 1, limit: 10 } });
        return taken;
      }
    }
  };
  expect(count()).toBe(20);
  time.pass(500);
  expect(count()).toBe(5);
  time.pass(60_000);
  expect(count()).toBe(20);
});

test("secrets are taken out of any text", () => {
  const token = `kumiko_abcdefghjkmn_${"x-_9".repeat(11)}`;
  const id = "kumiko_abcdefghjkmn_…";
  for (const [text, clean] of [
    [token, id],
    [`Bearer ${token}, again ${token}`, `Bearer ${id}, again ${id}`],
    [`{"url":"/?token=${token.slice(0, 40)}"}`, `{"url":"/?token=${id}"}`],
    [`kumiko_session=${token}; Path`, `kumiko_session=${id}; Path`],
    ["nothing here", "nothing here"],
  ])
    expect(withoutSecrets(text!)).toBe(clean);
});
