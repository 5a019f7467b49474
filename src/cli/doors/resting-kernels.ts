import { foldersByKernel, kernelsWithFolders } from "../../app/folders.ts";
import { HomeFolder } from "../../app/index.ts";
import { KumikoError } from "../../base/index.ts";
import type { Status } from "../../doors/http/index.ts";
import type { Access } from "../home/access.ts";
import type { Terminal } from "../terminal.ts";

/** As a server says of itself where it has something open. */
const SERVER = "kumiko serve";

type KernelStatus = Status["kernels"][number];

export interface Resting {
  readonly kernels: KernelStatus[];
  /** The process of a server that is about to have them. */
  readonly starting: number | undefined;
}

/** What there is of a home that no server has. Kernels are opened only for how their folders stand. */
export async function restingKernels(terminal: Terminal, place: string): Promise<Resting> {
  const home = new HomeFolder(place, "kumiko status");
  const kernels = await home.list();
  let starting: number | undefined;
  if (kernels.length === 0) return { kernels: [], starting };
  const onServer = (pid: number): void => void (starting = pid);
  const folders = await foldersByKernel(home);
  const withFolders = await kernelsWithFolders(home);
  const { localAccess } = await import("../home/local-access.ts");
  // What is damaged is told by whoever uses it.
  const options = { actor: "status", onDamage: () => undefined };
  await using access = await localAccess(terminal, home, options);
  const found: KernelStatus[] = [];
  for (const { kernel, bytes } of kernels)
    found.push({
      kernel,
      folder: folders.get(kernel) ?? null,
      bytes,
      contexts: null,
      position: null,
      mounts: withFolders.has(kernel) ? await mountsOf(terminal, access, kernel, onServer) : [],
    });
  return { kernels: found, starting };
}

/** Null when nobody can say: another process has the kernel, or it cannot be opened. */
async function mountsOf(
  terminal: Terminal,
  access: Access,
  kernel: string,
  onServer: (pid: number) => void,
): Promise<KernelStatus["mounts"]> {
  try {
    return await access.kernel(kernel, (each) => each.mounts(), { retry: true });
  } catch (error) {
    if (!(error instanceof KumikoError)) throw error;
    const { pid, command } = error.facts;
    // It took the kernel since it was looked for, and does not answer yet.
    if (error.code === "in_use" && command === SERVER && typeof pid === "number") {
      onServer(pid);
      return null;
    }
    await terminal.complain(`kumiko: ${error.message}\n`);
    return null;
  }
}
