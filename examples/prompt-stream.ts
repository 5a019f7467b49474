/** Reads an answer while it comes in: events, a tree that is whole at every moment, and what is odd. */
import { reduceEvents, unsureSpans, XmlParser, type ParseEvent } from "kumiko/prompt";

const tokens: [string, number][] = [
  ["I think", -0.1],
  [" <ans", -0.2],
  ["wer lang=en>a < b", -0.1],
  [" holds", -1.9],
  ["</answer", -0.1],
  ["> because <why>x", -0.3],
];

const events: ParseEvent[] = [];
const parser = new XmlParser({ onEvent: (event) => events.push(event) });
for (const [text, logprob] of tokens) parser.feed(text, logprob);
const { tree, diagnostics } = parser.end();

console.log(tree.byTag("answer")!.attrs, JSON.stringify(tree.byTag("answer")!.value));
console.log(events.filter(({ type }) => type === "open").map(({ path }) => path));
console.log(diagnostics.map(({ message }) => message));
console.log(unsureSpans(tree).map(({ text }) => text));
console.log(reduceEvents(events).text === tokens.map(([text]) => text).join(""));
