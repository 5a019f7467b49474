import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { nastyText } from "../../test/support/nasty-text.ts";
import { refusalCode } from "../../test/support/refusal.ts";
import { afterSaving, readText, type TextFile, type TextForm, writeText } from "./text-form.ts";

const LIMIT = 1_000_000;

const anyForm: fc.Arbitrary<TextForm> = fc
  .tuple(fc.constantFrom("utf-8", "utf-16le", "utf-16be"), fc.boolean(), fc.boolean())
  .map(([encoding, bom, crlf]) => ({ encoding, bom: bom || encoding !== "utf-8", crlf }) as const);

/** Made of what is easily got wrong. */
const anyBytes = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        [0xef, 0xbb, 0xbf],
        [0xff, 0xfe],
        [0xfe, 0xff],
        [0x0d],
        [0x0a],
        [0x0d, 0x0a],
        [0x0d, 0x00, 0x0a, 0x00],
        [0x61],
        [0x61, 0x00],
        [0x00, 0x61],
        [0xc3, 0xa9],
        [0xc0, 0xaf],
        [0xe2, 0x82],
        [0xed, 0xa0, 0x80],
        [0xf0, 0x9f, 0x98, 0x80],
        [0xf4, 0x90, 0x80, 0x80],
        [0x3d, 0xd8],
        [0x3d, 0xd8, 0x00, 0xde],
      ),
      fc.array(fc.integer({ min: 1, max: 255 }), { maxLength: 3 }),
    ),
    { maxLength: 12 },
  )
  .map((parts) => Uint8Array.from(parts.flat()));

describe("the text of a file", () => {
  it("is written back byte for byte, whatever the bytes are", () => {
    let texts = 0;
    fc.assert(
      fc.property(anyBytes, (bytes) => {
        const read = readText(bytes, LIMIT);
        if ("why" in read) return;
        texts += 1;
        expect([...writeText(read.text, read.form)]).toEqual([...bytes]);
        expect(read.text).not.toContain("\0");
        if (read.form.crlf) expect(read.text).not.toContain("\r\n");
      }),
      fcOptions(20_000),
    );
    expect(texts).toBeGreaterThan(100);
  });

  it("is what was saved, after any edit", () => {
    fc.assert(
      fc.property(nastyText, anyForm, (text, form) => {
        const bytes = writeText(text, form);
        const foreseen = afterSaving({ text, form });
        expect(readText(bytes, LIMIT, foreseen.form)).toEqual(foreseen);
        // What was foreseen is stable: saving it again changes no byte.
        expect([...writeText(foreseen.text, foreseen.form)]).toEqual([...bytes]);
        if (!text.includes("\r\n") && form.bom) expect(foreseen.text).toBe(text);
      }),
      fcOptions(5_000),
    );
  });

  it.each<[string, string, string, Partial<TextForm>]>([
    ["every end is \\r\\n", "a\r\nb\r\n", "a\nb\n", { crlf: true }],
    ["one end is not", "a\r\nb\n", "a\r\nb\n", { crlf: false }],
    ["a lone return is text", "a\rb\r\nc", "a\rb\nc", { crlf: true }],
    ["returns only", "a\rb\r", "a\rb\r", { crlf: false }],
    ["two returns before an end", "a\r\r\n", "a\r\r\n", { crlf: false }],
    ["a mark", "\uFEFFa", "a", { bom: true }],
    ["two marks", "\uFEFF\uFEFFa", "\uFEFFa", { bom: true }],
    ["nothing but a mark", "\uFEFF", "", { bom: true }],
    ["nothing", "", "", { bom: false, crlf: false }],
    ["no final newline", "a\nb", "a\nb", { crlf: false }],
  ])("keeps apart what is text and what is form: %s", (_title, stored, text, form) => {
    expect(readText(Buffer.from(stored), LIMIT)).toMatchObject({ text, form });
  });

  it.each<[string, number[], string]>([
    ["a zero byte", [0x61, 0, 0x62], "binary"],
    ["a zero byte behind a mark", [0xef, 0xbb, 0xbf, 0], "binary"],
    ["UTF-16 without a mark", [0x61, 0, 0x62, 0], "binary"],
    ["UTF-32 with a mark", [0xff, 0xfe, 0, 0, 0x61, 0, 0, 0], "binary"],
    ["the character NUL in UTF-16", [0xff, 0xfe, 0x61, 0, 0, 0], "binary"],
    ["overlong UTF-8", [0xc0, 0xaf], "undecodable"],
    ["truncated UTF-8", [0x61, 0xe2, 0x82], "undecodable"],
    ["a surrogate in UTF-8", [0xed, 0xa0, 0x80], "undecodable"],
    ["beyond Unicode", [0xf4, 0x90, 0x80, 0x80], "undecodable"],
    ["Latin-1", [0x63, 0x61, 0x66, 0xe9], "undecodable"],
    ["half a pair in UTF-16LE", [0xff, 0xfe, 0x3d, 0xd8, 0x61, 0], "undecodable"],
    ["half a pair in UTF-16BE", [0xfe, 0xff, 0xde, 0x00], "undecodable"],
    ["half a unit of UTF-16", [0xff, 0xfe, 0x61, 0, 0x62], "undecodable"],
  ])("is refused and never guessed: %s", (_title, bytes, why) => {
    expect(readText(Uint8Array.from(bytes), LIMIT)).toMatchObject({ why, size: bytes.length });
  });

  it("is refused above the limit, before anything is looked at", () => {
    expect(readText(new Uint8Array(11), 10)).toEqual({ why: "too_large", size: 11, limit: 10 });
    expect(readText(Buffer.from("x".repeat(10)), 10)).toMatchObject({ text: "x".repeat(10) });
  });

  it("gives a CRLF file one line end where an edit brought its own", () => {
    const form: TextForm = { encoding: "utf-8", bom: false, crlf: true };
    expect(saved({ text: "a\nb\r\nc\r\r\n", form })).toBe("a\r\nb\r\nc\r\n");
    expect(saved({ text: "a\rb\n\r", form })).toBe("a\rb\r\n\r");
  });

  it("keeps the returns of a file with mixed ends as they are, also when its ends become alike", () => {
    const { form } = readText(Buffer.from("a\r\nb\nc\r\n"), LIMIT) as TextFile;
    const text = "a\r\nc\r\n";
    const after = afterSaving({ text, form });
    expect(after).toEqual({ text, form: { ...form, returns: true } });
    expect(readText(writeText(text, after.form), LIMIT, after.form)).toEqual(after);
    // Who sees it for the first time takes it for a CRLF file.
    expect(readText(Buffer.from(text), LIMIT)).toMatchObject({ form: { crlf: true } });
    expect(readText(Buffer.from("a\nc\n"), LIMIT, after.form)).toEqual({
      text: "a\nc\n",
      form: { encoding: "utf-8", bom: false, crlf: false },
    });
  });

  it("remembers the line end of a file that has none left", () => {
    const read = readText(Buffer.from("a\r\nb"), LIMIT) as TextFile;
    const single = writeText("ab", read.form);
    expect(readText(single, LIMIT)).toMatchObject({ form: { crlf: false } });
    const again = readText(single, LIMIT, read.form) as TextFile;
    expect(saved({ text: "a\nb", form: again.form })).toBe("a\r\nb");
  });

  it("takes a long run of returns in linear time", () => {
    const text = `${"\r".repeat(400_000)}x\r\n`;
    const form: TextForm = { encoding: "utf-8", bom: false, crlf: true };
    expect(saved({ text, form })).toHaveLength(text.length);
  });

  it("is not written when it could not be read again", () => {
    const form: TextForm = { encoding: "utf-8", bom: false, crlf: false };
    expect(refusalCode(() => writeText("a\0b", form))).toBe("file_unwritable");
    expect(refusalCode(() => writeText("a\uD83Db", form))).toBe("ill_formed_text");
  });
});

function saved({ text, form }: TextFile): string {
  return Buffer.from(writeText(text, form)).toString();
}
