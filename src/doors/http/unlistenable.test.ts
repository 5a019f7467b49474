import { expect, test } from "vitest";
import { KumikoError } from "../../base/index.ts";
import { unlistenable } from "./unlistenable.ts";

test.each([
  ["EADDRINUSE", "in_use", "Another program listens on port 80 of 127.0.0.1. Choose another"],
  ["EADDRNOTAVAIL", "invalid_argument", "127.0.0.1 is no address of this machine"],
  ["EACCES", "invalid_argument", "Port 80 of 127.0.0.1 is not for this user. Choose one from 1024"],
  ["EPERM", "invalid_argument", "Port 80 of 127.0.0.1 is not for this user. Choose one from 1024"],
  ["ENOTFOUND", "invalid_argument", "127.0.0.1 is no name that leads to an address"],
  ["EINVAL", "invalid_argument", "The server cannot listen on port 80 of 127.0.0.1 (EINVAL)."],
])("%s is said in a sentence", (code, ours, sentence) => {
  const raw = Object.assign(new Error(`listen ${code}: 127.0.0.1:80`), { code, syscall: "listen" });
  const error = unlistenable(raw, { host: "127.0.0.1", port: 80 });
  expect(error).toBeInstanceOf(KumikoError);
  expect(error).toMatchObject({ code: ours, facts: { reason: code }, cause: raw });
  expect(error.message).toContain(sentence);
  expect(error.message).not.toContain("listen E");
});

test("what is no refusal of the system stays what it is", () => {
  const fault = new TypeError("ours");
  expect(unlistenable(fault, { host: "a", port: 1 })).toBe(fault);
});
