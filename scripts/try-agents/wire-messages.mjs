// The Messages API of Anthropic, as Claude Code speaks it.

export const messages = {
  path: "/v1/messages",

  /** The tools that the model may use now. */
  offered: ({ tools = [] }) => tools.map(({ name }) => name),

  /** What the model is shown of a call's result; undefined while it has none. */
  shown: ({ messages: said }, id) => {
    const parts = said.flatMap(({ content }) => (Array.isArray(content) ? content : []));
    const result = parts.find(({ type, tool_use_id: of }) => type === "tool_result" && of === id);
    return result === undefined ? undefined : textOf(result.content);
  },

  /** What a model streams that takes this step. */
  stream: (step, id, { model }) => {
    const isCall = step.call !== undefined;
    const block = isCall
      ? { type: "tool_use", id, name: step.call, input: {} }
      : { type: "text", text: "" };
    const delta = isCall
      ? { type: "input_json_delta", partial_json: JSON.stringify(step.input) }
      : { type: "text_delta", text: step.say };
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: `msg_${id}`, type: "message", role: "assistant", model, content: [] };
    const ended = { stop_reason: isCall ? "tool_use" : "end_turn", stop_sequence: null };
    const begun = { ...message, stop_reason: null, stop_sequence: null, usage };
    return [
      { type: "message_start", message: begun },
      { type: "content_block_start", index: 0, content_block: block },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: ended, usage: { output_tokens: 1 } },
      { type: "message_stop" },
    ]
      .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      .join("");
  },
};

function textOf(content) {
  return typeof content === "string" ? content : content.map(({ text }) => text ?? "").join("\n");
}
