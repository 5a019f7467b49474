import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { holdsAnnounced } from "./announced.ts";

const TEXT = "one\ntwo\nthree\nfour\nfive\n";

/** Lines that are all different, some of which somebody replaces. */
const lines = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,6}$/), { minLength: 3, maxLength: 12 });

describe("a change has in it what was announced", () => {
  test("when it is that, and also with what others did to lines further off", () => {
    const history = fc.record({
      lines,
      own: fc.nat(),
      others: fc.array(fc.nat(), { maxLength: 4 }),
    });
    fc.assert(
      fc.property(history, ({ lines: all, own, others }) => {
        const mine = own % all.length;
        const far = others.map((each) => each % all.length).filter((at) => Math.abs(at - mine) > 1);
        const before = `${all.join("\n")}\n`;
        const after = all.map((line, at) =>
          at === mine ? "MINE" : far.includes(at) ? line.toUpperCase() : line,
        );
        const old = `${all[mine]!}\n`;
        const place = before.startsWith(old) ? old : `\n${old}`;
        const edits = [{ old: place, new: place.replace(all[mine]!, "MINE") }];
        expect(holdsAnnounced({ edits }, before, `${after.join("\n")}\n`)).toBe(true);
      }),
      fcOptions(500),
    );
  });

  test("and not when it is something else, or less", () => {
    const two = { edits: [{ old: "two", new: "TWO" }] };
    for (const after of [
      TEXT,
      "written by ann\n",
      TEXT.replace("four", "FOUR"),
      TEXT.replace("two", "2"),
      TEXT.replace("two", "TWO and more"),
      TEXT.replace("two\n", ""),
      "",
    ])
      expect([after, holdsAnnounced(two, TEXT, after)]).toEqual([after, false]);
    const both = { edits: [...two.edits, { old: "four", new: "FOUR" }] };
    expect(holdsAnnounced(both, TEXT, TEXT.replace("two", "TWO"))).toBe(false);
    expect(holdsAnnounced(both, TEXT, TEXT.replace("two", "TWO").replace("four", "FOUR"))).toBe(
      true,
    );
  });

  test("a whole text, a file that is new, a deletion, every place, words that mean something", () => {
    expect(holdsAnnounced({ content: "x\n" }, TEXT, "x\n")).toBe(true);
    expect(holdsAnnounced({ content: "x\n" }, TEXT, "y\n")).toBe(false);
    expect(holdsAnnounced({ content: TEXT }, TEXT, TEXT)).toBe(false);
    expect(holdsAnnounced({ edits: [{ old: "", new: "x\n" }] }, "", "x\n")).toBe(true);
    expect(holdsAnnounced({ edits: [{ old: "", new: "x\n" }] }, TEXT, `${TEXT}x\n`)).toBe(false);
    const deletion = { edits: [{ old: "two\n", new: "" }] };
    expect(holdsAnnounced(deletion, TEXT, TEXT.replace("two\n", ""))).toBe(true);
    expect(holdsAnnounced(deletion, TEXT, TEXT.replace("four\n", ""))).toBe(false);
    const all = { edits: [{ old: "x", new: "$&", all: true }] };
    expect(holdsAnnounced(all, "x\ny\nx\n", "$&\ny\n$&\n")).toBe(true);
    expect(holdsAnnounced(all, "x\ny\nx\n", "$&\ny\nx\n")).toBe(false);
  });

  test("whatever line ends the file has, and without blanks that the tool dropped", () => {
    const crlf = TEXT.replaceAll("\n", "\r\n");
    const edits = [{ old: "two\nthree", new: "TWO  \nTHREE" }];
    const after = crlf.replace("two", "TWO").replace("three", "THREE");
    expect(holdsAnnounced({ edits }, crlf, after)).toBe(true);
  });

  test("pieces: all of them, and not those that stood there before", () => {
    const holds = ["print(1)", "print(2)"];
    expect(holdsAnnounced({ holds }, "[]", '["print(1)\\n", "print(2)"]')).toBe(true);
    expect(holdsAnnounced({ holds }, "[]", '["print(1)\\n"]')).toBe(false);
    expect(holdsAnnounced({ holds }, "print(1) print(2)", "print(1) print(2)!")).toBe(false);
    expect(holdsAnnounced({ holds: [] }, "", "anything")).toBe(false);
  });
});
