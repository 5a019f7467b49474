// The Responses API of OpenAI, as Codex speaks it.

/** Tools of an MCP server are in a namespace, and often offered only to a model that looked for them. */
const namesIn = (tool) =>
  tool.type === "namespace"
    ? tool.tools.map(({ name }) => `${tool.name}/${name}`)
    : [tool.name ?? tool.type];

export const responses = {
  path: "/v1/responses",

  offered: ({ tools = [], input }) => {
    const found = input.filter(({ type }) => type === "tool_search_output");
    return [...tools, ...found.flatMap((item) => item.tools)].flatMap(namesIn);
  },

  shown: ({ input }, id) => {
    const result = input.find(({ type, call_id: of }) => type.endsWith("_output") && of === id);
    return result === undefined ? undefined : textOf(result.output ?? result.tools);
  },

  stream: (step, id) => {
    const item = itemOf(step, id);
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    const response = { id: `resp_${id}` };
    return [
      { type: "response.created", response },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { ...response, output: [item], usage } },
    ]
      .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      .join("");
  },
};

function itemOf({ call, input, say }, id) {
  if (call === undefined) {
    const content = [{ type: "output_text", text: say, annotations: [] }];
    return { type: "message", id: `msg_${id}`, role: "assistant", content };
  }
  const own = { id: `item_${id}`, call_id: id };
  if (call === "tool_search")
    return { type: "tool_search_call", ...own, execution: "client", arguments: input };
  // Codex has tools that take plain text instead of JSON.
  if (typeof input === "string") return { type: "custom_tool_call", ...own, name: call, input };
  const [namespace, name] = call.split("/");
  const named = name === undefined ? { name: call } : { namespace, name };
  return { type: "function_call", ...own, ...named, arguments: JSON.stringify(input) };
}

function textOf(output) {
  if (typeof output === "string") return output;
  return output.map((part) => part.text ?? JSON.stringify(part)).join("\n");
}
