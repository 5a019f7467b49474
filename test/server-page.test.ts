import { describe, expect, test } from "vitest";
import { type RunningServer, startServer } from "../src/app/server.ts";
import { ask } from "./support/http.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

/** As much of an element as the page's script uses. */
class Element {
  textContent = "";
  hidden = true;
  children: Element[] = [];

  append(...children: Element[]): void {
    this.children.push(...children);
  }

  replaceChildren(...children: Element[]): void {
    this.children = children;
  }

  /** What a person reads. */
  get shown(): string {
    return [this.textContent, ...this.children.map((each) => each.shown)]
      .filter(Boolean)
      .join(" | ");
  }
}

interface Visit {
  readonly shown: (id: string) => string;
  readonly hidden: (id: string) => boolean;
  readonly notice: () => string;
  readonly address: () => string;
  readonly asked: string[];
}

/** Runs the page's own script, served by the server, as a browser at this address would. */
async function visit(
  server: RunningServer,
  hash: string,
  jar: { cookie?: string },
): Promise<Visit> {
  const host = `127.0.0.1:${server.port}`;
  const script = (await ask(server.port, { path: "/page.js", headers: { host } })).body;
  const elements = new Map<string, Element>();
  const element = (id: string): Element => {
    const known = elements.get(id) ?? new Element();
    elements.set(id, known);
    return known;
  };
  const location = { hash, pathname: "/" };
  const asked: string[] = [];
  const fetch = async (path: string, { method = "GET", headers = {}, body = "" } = {}) => {
    asked.push(`${method} ${path}`);
    const answered = await ask(server.port, {
      method,
      path,
      headers: {
        host,
        ...headers,
        ...(jar.cookie !== undefined && { cookie: jar.cookie }),
        ...(method !== "GET" && { origin: `http://${host}` }),
        "sec-fetch-site": "same-origin",
      },
      ...(body !== "" && { body }),
    });
    const given = answered.headers["set-cookie"]?.[0];
    if (given !== undefined) jar.cookie = given.split(";")[0]!;
    const { status } = answered;
    return { ok: status < 300, status, json: () => Promise.resolve(JSON.parse(answered.body)) };
  };
  const surroundings = {
    document: { getElementById: element, createElement: () => new Element() },
    location,
    history: {
      replaceState: (_: null, __: string, address: string) => {
        location.hash = "";
        location.pathname = address;
      },
    },
    fetch,
    setTimeout: () => 0,
  };
  const AsyncFunction = (async () => undefined).constructor as new (
    ...parts: string[]
  ) => (...given: unknown[]) => Promise<void>;
  await new AsyncFunction(...Object.keys(surroundings), script)(...Object.values(surroundings));
  return {
    shown: (id) => element(id).shown,
    hidden: (id) => element(id).hidden,
    notice: () => (element("notice").hidden ? "" : element("notice").textContent),
    address: () => location.pathname + location.hash,
    asked,
  };
}

describe("the page", () => {
  test("exchanges its link, forgets it, and shows what runs; without one it says what to do", async () => {
    using home = temporaryFolder();
    await using server = await startServer({ home: home.path, folder: home.path, actor: "ann" });
    const kernel = await server.hall.world.open(server.kernel!);
    await kernel.contexts.create("planning", "ann");
    const stranger = await visit(server, "", {});
    expect(stranger.notice()).toContain("kumiko status --link");
    expect(stranger.shown("kernels")).toBe("");
    expect(stranger.hidden("tables")).toBe(true);

    const link = new URL(await server.link());
    const jar = {};
    const first = await visit(server, link.hash, jar);
    expect(first.asked).toEqual(["POST /session", "GET /status.json"]);
    expect(first.address()).toBe("/");
    expect(first.notice()).toBe("");
    expect(first.shown("kernels")).toBe(`${server.kernel} | ${home.path} | planning | 0`);
    expect(first.shown("connections")).toBe("nobody");
    expect(first.shown("clients")).toBe("none");
    expect(first.hidden("tables")).toBe(false);
    expect(first.shown("server")).toContain("ann");
    // The link is used up, but whoever used it goes on with the cookie.
    expect((await visit(server, link.hash, jar)).notice()).toBe("");
    const late = await visit(server, link.hash, {});
    expect(late.notice()).toBe(
      "This link was used already, or has expired: kumiko status --link prints another.",
    );
    expect(late.hidden("tables")).toBe(true);
    const owner = await server.hall.tokens.authenticate(server.ownerToken);
    using stay = server.hall.clients.begin(owner, "claude", "Claude Code");
    const seen = await visit(server, "", jar);
    expect(seen.shown("clients")).toMatch(/^Claude Code \| claude \(agent\) \| .* \| none yet$/);
    stay.called("claude");
    expect((await visit(server, "", jar)).shown("clients")).not.toContain("none yet");
    expect((await visit(server, "", jar)).shown("kernels")).toContain("planning");
  });
});
