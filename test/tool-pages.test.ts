import { fileTools } from "../src/files/index.ts";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  blockStreams,
  blockTools,
  inputSchema,
  referencePages,
  toolForms,
} from "../src/tools/index.ts";

const folder = join(import.meta.dirname, "..", "docs", "tools");
const tools = [...blockTools, ...fileTools, ...blockStreams];
const pages = referencePages(tools);

describe("reference pages", () => {
  test("there is one for every tool and none besides", () => {
    expect(readdirSync(folder).toSorted(), "run `npm run docs`").toEqual(
      [...pages.keys()].toSorted(),
    );
  });

  test.each([...pages])("%s says what the definition says", (name, text) => {
    expect(readFileSync(join(folder, name), "utf8"), "run `npm run docs`").toBe(text);
  });

  test("the command line knows the tools as they are", () => {
    const kept = join(import.meta.dirname, "..", "src", "cli", "home", "tools.json");
    expect(JSON.parse(readFileSync(kept, "utf8")), "run `npm run docs`").toEqual(toolForms(tools));
  });

  test.each(tools.map((tool) => [tool.name, tool] as const))(
    "%s takes its own examples and explains each argument",
    (_, tool) => {
      expect(tool.examples.length).toBeGreaterThan(0);
      for (const { input } of tool.examples) tool.input.parse(input);
      for (const [name, { description }] of Object.entries(inputSchema(tool).properties)) {
        expect(description ?? "", `${tool.name}: ${name}`).not.toBe("");
      }
    },
  );
});
