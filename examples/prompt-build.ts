/** Builds a prompt of parts, and shows what a model reads and where each part of it comes from. */
import { prompt, PromptBlock, render } from "kumiko/prompt";

const root = new PromptBlock({ style: "root" });
root.appendChild(
  prompt
    .build({ role: "system", style: "root" })
    .paragraph("You review changes.")
    .heading("Rules", (rules) => rules.list(["Quote the line you mean", "Say what to do instead"]))
    .done(),
);

const question = root.appendChild({ role: "user", style: "root" });
question.append("What do you think of this?");
{
  using file = question.open("file", { style: "xml", attrs: { path: "src/sum.ts" } });
  file.append("for (let i = 0; i < n; i++) sum += i; // </file> does not end it");
}
// A block that is closed still takes text where it belongs.
question.byTag("file")!.append("\n// and one more line");

const rendered = render(root);
for (const { role, content } of rendered.messages()) console.log(`--- ${role}\n${content}`);

const at = rendered.text.indexOf("sum += i");
console.log(`--- "sum += i" comes from <${rendered.at(at)!.block.tags[0]}>`);
