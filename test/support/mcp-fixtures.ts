import { setTimeout as later } from "node:timers/promises";
import type { CallToolResult, Server, ServerContext } from "@modelcontextprotocol/server";

/**
 * What the conformance suite expects a server to offer, so that it can see each kind of content and of message pass.
 * Registered in place of ours, for that test only.
 */
export function equipForConformance(server: Server): void {
  server.registerCapabilities({ prompts: {} });
  server.setRequestHandler("tools/list", () => ({
    tools: [
      ...Object.keys(tools).map((name) => ({
        name,
        description: `fixture ${name}`,
        inputSchema: { type: "object" as const },
      })),
      schemaTool,
    ],
  }));
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const run = tools[params.name];
    if (run === undefined) throw new Error(`no fixture ${params.name}`);
    try {
      return await run(context, params.arguments ?? {});
    } catch (error) {
      return { isError: true, content: [text((error as Error).message)] };
    }
  });
  server.setRequestHandler("resources/list", () => ({
    resources: Object.keys(resources).map((uri) => ({ uri, name: uri, description: "a fixture" })),
  }));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template" }],
  }));
  server.setRequestHandler("resources/read", ({ params: { uri } }) => {
    const id = /^test:\/\/template\/(.+)\/data$/.exec(uri)?.[1];
    const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    const found = id === undefined ? resources[uri] : { mimeType: "application/json", text: data };
    if (found === undefined) throw new Error(`no fixture ${uri}`);
    return { contents: [{ uri, ...found }] };
  });
  server.setRequestHandler("resources/subscribe", () => ({}));
  server.setRequestHandler("resources/unsubscribe", () => ({}));
  server.setRequestHandler("completion/complete", ({ params }) => ({
    completion: {
      values: ["paris", "park"].filter((each) => each.startsWith(params.argument.value)),
    },
  }));
  server.setRequestHandler("prompts/list", () => ({
    prompts: Object.entries(prompts).map(([name, { named }]) => ({
      name,
      description: `fixture ${name}`,
      arguments: named.map((each) => ({ name: each, required: true })),
    })),
  }));
  server.setRequestHandler("prompts/get", ({ params }) => {
    const prompt = prompts[params.name];
    if (prompt === undefined) throw new Error(`no fixture ${params.name}`);
    return { messages: prompt.messages(params.arguments ?? {}) };
  });
}

type Run = (
  context: ServerContext,
  input: { [name: string]: unknown },
) => CallToolResult | Promise<CallToolResult>;
type Content = CallToolResult["content"][number];

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

const text = (said: string) => ({ type: "text" as const, text: said });
const image: Content = { type: "image", data: PNG, mimeType: "image/png" };

function embedded(uri: string, said: string, mimeType = "text/plain") {
  return { type: "resource" as const, resource: { uri, mimeType, text: said } };
}

/** Answers that are only content. */
const plain =
  (...content: Content[]): Run =>
  () => ({ content });

/** The client may not have opened the stream that no request opened yet. */
function onItsStream({ id }: ServerContext["mcpReq"]) {
  return { relatedRequestId: id };
}

function asking(requestedSchema: { [name: string]: unknown }): Run {
  return async ({ mcpReq }, { message = "Please answer." }) => {
    const params = { message: String(message), requestedSchema };
    const { action, content } = await mcpReq.elicitInput(
      params as Parameters<typeof mcpReq.elicitInput>[0],
      onItsStream(mcpReq),
    );
    return { content: [text(`action=${action}, content=${JSON.stringify(content ?? {})}`)] };
  };
}

const choices = ["option1", "option2", "option3"];
const titled = [1, 2, 3].map((n) => ({ const: `value${n}`, title: `Option ${n}` }));

const tools: { readonly [name: string]: Run } = {
  test_simple_text: plain(text("This is a simple text response for testing.")),
  test_image_content: plain(image),
  test_audio_content: plain({ type: "audio", data: WAV, mimeType: "audio/wav" }),
  test_embedded_resource: plain(
    embedded("test://embedded-resource", "This is an embedded resource content."),
  ),
  test_multiple_content_types: plain(
    text("Multiple content types test:"),
    image,
    embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
  ),
  test_tool_with_logging: async ({ mcpReq }) => {
    for (const said of ["started", "processing data", "completed"]) {
      await mcpReq.log("info", `Tool ${said}`);
      await later(50);
    }
    return { content: [text("logged")] };
  },
  test_error_handling: () => {
    throw new Error("This tool intentionally returns an error for testing");
  },
  test_tool_with_progress: async ({ mcpReq }) => {
    const progressToken = mcpReq["_meta"]?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined)
        await mcpReq.notify({
          method: "notifications/progress",
          params: { progressToken, progress, total: 100 },
        });
      await later(50);
    }
    return { content: [text("done")] };
  },
  test_sampling: async ({ mcpReq }, { prompt }) => {
    const content = text(String(prompt));
    const answer = await mcpReq.requestSampling(
      { messages: [{ role: "user", content }], maxTokens: 100 },
      onItsStream(mcpReq),
    );
    return { content: [text(`LLM response: ${JSON.stringify(answer.content)}`)] };
  },
  test_elicitation: asking({
    type: "object",
    properties: { username: { type: "string" }, email: { type: "string" } },
    required: ["username", "email"],
  }),
  test_elicitation_sep1034_defaults: asking({
    type: "object",
    properties: {
      name: { type: "string", default: "John Doe" },
      age: { type: "integer", default: 30 },
      score: { type: "number", default: 95.5 },
      status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
      verified: { type: "boolean", default: true },
    },
    required: [],
  }),
  test_elicitation_sep1330_enums: asking({
    type: "object",
    properties: {
      untitledSingle: { type: "string", enum: choices },
      titledSingle: { type: "string", oneOf: titled },
      legacyEnum: {
        type: "string",
        enum: ["opt1", "opt2"],
        enumNames: ["Option One", "Option Two"],
      },
      untitledMulti: { type: "array", items: { type: "string", enum: choices } },
      titledMulti: { type: "array", items: { anyOf: titled } },
    },
    required: [],
  }),
  test_reconnection: async ({ http }) => {
    await later(50);
    http?.closeSSE?.();
    await later(100);
    return { content: [text("reconnected")] };
  },
};

const schemaTool = {
  name: "json_schema_2020_12_tool",
  description: "Tool with JSON Schema 2020-12 features",
  inputSchema: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object" as const,
    $defs: {
      address: {
        type: "object",
        properties: { street: { type: "string" }, city: { type: "string" } },
      },
    },
    properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
    additionalProperties: false,
  },
};

type Found = { mimeType: string } & ({ text: string } | { blob: string });

const resources: { readonly [uri: string]: Found } = {
  "test://static-text": {
    mimeType: "text/plain",
    text: "This is the content of the static text resource.",
  },
  "test://static-binary": { mimeType: "image/png", blob: PNG },
  "test://watched-resource": { mimeType: "text/plain", text: "watched" },
};

interface Prompt {
  readonly named: readonly string[];
  messages(given: { [name: string]: string }): { role: "user"; content: Content }[];
}

const said = (...content: Content[]) =>
  content.map((each) => ({ role: "user" as const, content: each }));

const prompts: { readonly [name: string]: Prompt } = {
  test_simple_prompt: {
    named: [],
    messages: () => said(text("This is a simple prompt for testing.")),
  },
  test_prompt_with_arguments: {
    named: ["arg1", "arg2"],
    messages: ({ arg1, arg2 }) =>
      said(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  },
  test_prompt_with_embedded_resource: {
    named: ["resourceUri"],
    messages: ({ resourceUri = "" }) =>
      said(
        embedded(resourceUri, "Embedded resource content for testing."),
        text("Please process the embedded resource above."),
      ),
  },
  test_prompt_with_image: {
    named: [],
    messages: () => said(image, text("Please analyze the image above.")),
  },
};
