import { KumikoError } from "../../base/index.ts";
import type { Kernel } from "../../kernel/index.ts";
import type { Host } from "./host.ts";
import type { Sight } from "./sight.ts";

/** The conversation of whoever names none; it is made when it is first needed. */
const DEFAULT_CONTEXT = "main";

/** Kernels of which it is known that it is there, or being made. */
const known = new WeakMap<Kernel, Promise<void> | "there">();

/** The kernel a call means: the one that is named, or the only one there is. */
export function kernelFor(host: Host, { kernel }: Sight): Kernel | Promise<Kernel> {
  return kernel === undefined ? onlyKernel(host) : host.kernel(kernel);
}

async function onlyKernel(host: Host): Promise<Kernel> {
  const kernels = await host.kernels();
  const [only] = kernels;
  if (only !== undefined && kernels.length === 1) return host.kernel(only);
  throw new KumikoError(
    "invalid_argument",
    kernels.length === 0
      ? "There is no kernel yet: run `kumiko serve` in a folder, or make one with `kumiko kernel new`."
      : `Say which kernel you mean with the header kumiko-kernel or _meta kumiko/kernel; there are: ${kernels.join(", ")}.`,
    { kernels: [...kernels] },
  );
}

/** The conversation a call means. */
export function contextFor(host: Host, kernel: Kernel, sight: Sight): string | Promise<string> {
  if (sight.context !== undefined) return sight.context;
  if (!host.writes || known.get(kernel) === "there") return DEFAULT_CONTEXT;
  return defaultContext(kernel, host.actorOf(sight.actor));
}

async function defaultContext(kernel: Kernel, actor: string): Promise<string> {
  const making = known.get(kernel) ?? make(kernel, actor);
  known.set(kernel, making);
  try {
    await making;
    known.set(kernel, "there");
  } catch (error) {
    known.delete(kernel);
    throw error;
  }
  return DEFAULT_CONTEXT;
}

async function make(kernel: Kernel, actor: string): Promise<void> {
  try {
    await kernel.contexts.check(DEFAULT_CONTEXT);
    return;
  } catch (error) {
    if (!isRefusal(error, "unknown_context")) throw error;
  }
  try {
    await kernel.contexts.create(DEFAULT_CONTEXT, actor);
  } catch (error) {
    // Somebody else was faster.
    if (!isRefusal(error, "already_exists")) throw error;
  }
}

function isRefusal(error: unknown, code: KumikoError["code"]): boolean {
  return error instanceof KumikoError && error.code === code;
}
