import { randomUUID } from "node:crypto";
import type { OpenKernel } from "../home/access.ts";
import { callTool } from "../home/call-tool.ts";
import type { Caller } from "../home/with-kernel.ts";

/** Calls a tool; what it answers is as the tool's schema says. */
export async function callFileTool<Answer>(
  kernel: OpenKernel,
  caller: Caller,
  name: string,
  input: { readonly [name: string]: unknown },
): Promise<Answer> {
  const reader = `cli-${randomUUID()}`;
  const call = { name, arguments: { ...input }, passing: true, reader };
  return (await callTool(kernel, caller, call)) as Answer;
}
