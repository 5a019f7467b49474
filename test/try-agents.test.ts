import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { root, runProgram } from "./support/process.ts";

/** Scripts have no types: they run before anything is installed. */
async function script(name: string): Promise<unknown> {
  return import(pathToFileURL(join(root, "scripts", "try-agents", name)).href);
}

interface Step {
  readonly call?: string;
  readonly input?: unknown;
  readonly say?: string;
}

interface Wire {
  offered(request: object): string[];
  shown(request: object, id: string): string | undefined;
  stream(step: Step, id: string, request: object): string;
}

interface Model {
  readonly calls: readonly {
    readonly id: string;
    readonly call: string;
    readonly shown?: string;
  }[];
  readonly isDone: boolean;
  readonly trouble: string | null;
  answer(request: object): { readonly text: string; readonly waits: boolean };
}

const { messages } = (await script("wire-messages.mjs")) as { messages: Wire };
const { responses } = (await script("wire-responses.mjs")) as { responses: Wire };
const { chat } = (await script("wire-chat.mjs")) as { chat: Wire };
const { Script } = (await script("script.mjs")) as {
  Script: new (parts: { wire: Wire; steps: Step[]; meanwhile: Step }) => Model;
};

const readNotes = { call: "mcp__kumiko/block_read", input: { block_id: "notes.md" } };

/** The data of each event, and that it stands under its own name. */
function eventsIn(text: string): { readonly [name: string]: unknown }[] {
  expect(text.endsWith("\n\n")).toBe(true);
  const blocks = text.trimEnd().split("\n\n");
  return blocks.flatMap((block) => {
    const [, name, data] = /^(?:event: (.*)\n)?data: (.*)$/.exec(block)!;
    if (data === "[DONE]") return [];
    const event = JSON.parse(data!) as { type?: string };
    expect(event.type).toBe(name);
    return [event];
  });
}

describe("the model that is played for an agent", () => {
  it("streams a call and its end as Anthropic does", () => {
    const call = { call: "Edit", input: { file_path: "a" } };
    const events = eventsIn(messages.stream(call, "c1", { model: "m" }));
    expect(events[1]).toMatchObject({
      content_block: { type: "tool_use", id: "c1", name: "Edit" },
    });
    expect(events[2]).toMatchObject({ delta: { partial_json: '{"file_path":"a"}' } });
    expect(events[4]).toMatchObject({ delta: { stop_reason: "tool_use" } });
    const said = eventsIn(messages.stream({ say: "done" }, "c2", { model: "m" }));
    expect(said[2]).toMatchObject({ delta: { type: "text_delta", text: "done" } });
    expect(said[4]).toMatchObject({ delta: { stop_reason: "end_turn" } });
  });

  it("streams calls of namespaces, of plain text and of the search for tools as OpenAI does", () => {
    const item = (step: Step) => eventsIn(responses.stream(step, "c1", {}))[1]?.["item"];
    expect(item(readNotes)).toMatchObject({
      type: "function_call",
      namespace: "mcp__kumiko",
      name: "block_read",
      arguments: '{"block_id":"notes.md"}',
    });
    const patch = { call: "apply_patch", input: "*** Begin Patch" };
    expect(item(patch)).toMatchObject({ type: "custom_tool_call", input: "*** Begin Patch" });
    const search = { call: "tool_search", input: { query: "read" } };
    expect(item(search)).toMatchObject({ type: "tool_search_call", arguments: { query: "read" } });
  });

  it("streams chunks that end with [DONE] where many providers do", () => {
    const text = chat.stream({ call: "edit", input: {} }, "c1", { model: "m" });
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    const [called, ended] = eventsIn(text) as { choices: object[] }[];
    const tool = { id: "c1", function: { name: "edit", arguments: "{}" } };
    expect(called?.choices[0]).toMatchObject({ delta: { tool_calls: [tool] } });
    expect(ended?.choices[0]).toMatchObject({ finish_reason: "tool_calls" });
  });

  it("does something else until its tool is offered, and then notes what it was shown", () => {
    const meanwhile = { call: "tool_search", input: { query: "read" } };
    const steps = [readNotes, { say: "done" }];
    const model = new Script({ wire: responses, steps, meanwhile });
    const tools = [{ type: "tool_search" }];
    expect(model.answer({ tools, input: [] }).waits).toBe(true);
    const space = { type: "namespace", name: "mcp__kumiko", tools: [{ name: "block_read" }] };
    const found = { type: "tool_search_output", call_id: "call_1", tools: [space] };
    expect(model.answer({ tools, input: [found] }).waits).toBe(false);
    const output = [{ type: "input_text", text: "0 one" }];
    const result = { type: "function_call_output", call_id: "call_2", output };
    model.answer({ tools, input: [found, result] });
    expect(model.calls).toEqual([{ id: "call_2", call: readNotes.call, shown: "0 one" }]);
    expect([model.isDone, model.trouble]).toEqual([true, null]);
  });

  it("says so when a tool is never offered, and takes no step when it is only asked for a title", () => {
    const model = new Script({ wire: chat, steps: [readNotes], meanwhile: { say: "wait" } });
    expect(model.answer({ messages: [] }).text).toContain("Notes");
    const tools = [{ function: { name: "bash" } }];
    for (let at = 0; at < 30; at++) expect(model.answer({ tools, messages: [] }).waits).toBe(true);
    expect(model.answer({ tools, messages: [] }).waits).toBe(false);
    expect(model.trouble).toContain("was never offered");
    expect(model.isDone).toBe(false);
  });
});

interface Check {
  readonly name: string;
  readonly ok: boolean;
}

describe("what a trial finds", () => {
  it("fails wherever something else came of it than should have", async () => {
    const { findings } = (await script("findings.mjs")) as {
      findings: (agent: object, trial: object) => Check[];
    };
    const { agents, texts, farewell } = (await script("agents.mjs")) as {
      agents: { name: string; prefix: string; own: { tool: string } }[];
      texts: { byKumiko: string; byItself: string };
      farewell: string;
    };
    const agent = agents.find(({ name }) => name === "claude-code")!;
    const calls = [
      { id: "1", call: `${agent.prefix}block_read`, shown: "0 one\n1 two\n2 three" },
      { id: "2", call: `${agent.prefix}block_edit`, shown: "notes.md is now version 2 (edit e)." },
      { id: "3", call: "Edit", shown: "updated" },
    ];
    const played = { calls, offered: new Set([calls[0]!.call]), isDone: true, trouble: null };
    const printed = JSON.stringify({ session_id: "s", result: farewell });
    const run = (text: string, actor: string) => ({ text, actor });
    const good = {
      connected: { changed: true },
      script: played,
      ended: { code: 0, printed, output: printed },
      disk: `one\n${texts.byKumiko}\n${texts.byItself}\n`,
      blame: [
        run("one\n", "disk"),
        run(texts.byKumiko, "claude-code"),
        run("\n", "disk"),
        run(texts.byItself, "claude-code"),
        run("\n", "disk"),
      ],
      versions: [{ actor: "claude-code", tool: "Edit", call: "3", turn: "s" }],
    };
    const failed = (trial: object): string[] =>
      findings(agent, trial)
        .filter(({ ok }) => !ok)
        .map(({ name }) => name);
    expect(failed(good)).toEqual([]);
    const offered = new Set(["Read"]);
    expect(failed({ ...good, script: { ...played, offered } })).toEqual(["connected"]);
    expect(failed({ ...good, script: { ...played, trouble: "no" } })).toEqual(["ends"]);
    const silent = calls.map((call) => ({ ...call, shown: undefined }));
    expect(failed({ ...good, script: { ...played, calls: silent } })).toEqual([
      "reads by Kumiko",
      "edits by Kumiko",
      "edits by Edit",
    ]);
    expect(failed({ ...good, disk: "one\n" })).toEqual(["on disk"]);
    const blame = good.blame.map((each) => ({ ...each, actor: "disk" }));
    expect(failed({ ...good, blame })).toEqual(["blame"]);
    const versions = [{ ...good.versions[0], turn: "another" }];
    expect(failed({ ...good, versions })).toEqual(["history"]);
    expect(failed({ ...good, ended: { ...good.ended, code: 1 } })).toEqual(["ends"]);
  });

  it("needs an agent that is known", async () => {
    const file = join(root, "scripts", "try-agents.mjs");
    const { code, stderr } = await runProgram(process.execPath, [file, "--only", "emacs"]);
    expect(code).toBe(2);
    expect(stderr).toContain("claude-code, codex, opencode");
  });
});
