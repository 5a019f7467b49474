// The Chat Completions API of OpenAI, which most providers imitate, as opencode speaks it.

export const chat = {
  path: "/v1/chat/completions",

  offered: ({ tools = [] }) => tools.map((tool) => tool.function.name),

  shown: ({ messages }, id) => {
    const result = messages.find(({ role, tool_call_id: of }) => role === "tool" && of === id);
    return result === undefined ? undefined : textOf(result.content);
  },

  stream: (step, id, { model }) => {
    const base = { id: `chat_${id}`, object: "chat.completion.chunk", created: 0, model };
    const chunk = (delta, finish) => ({
      ...base,
      choices: [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason: finish }],
    });
    const isCall = step.call !== undefined;
    const called = { name: step.call, arguments: JSON.stringify(step.input) };
    const delta = isCall
      ? { tool_calls: [{ index: 0, id, type: "function", function: called }] }
      : { content: step.say };
    const events = [chunk(delta, null), chunk({}, isCall ? "tool_calls" : "stop")];
    return [...events.map((event) => JSON.stringify(event)), "[DONE]"]
      .map((data) => `data: ${data}\n\n`)
      .join("");
  },
};

function textOf(content) {
  return typeof content === "string" ? content : content.map(({ text }) => text ?? "").join("\n");
}
