import { randomUUID } from "node:crypto";
import { RpcTarget } from "capnweb";
import { KumikoError } from "../../base/index.ts";
import {
  PROTOCOL_VERSION,
  type RpcAnswers,
  rpcInputs,
  type RpcKernel,
  type RpcWorld,
} from "../../protocol/index.ts";
import { checkEveryKernel } from "../principal.ts";
import type { Caller } from "./caller.ts";
import { checkInput } from "./check-input.ts";
import { KernelTarget } from "./kernel.ts";

type Answers = RpcAnswers["World"];
const inputs = rpcInputs.World;

/** Finds or makes the kernel of a folder, and says its name. */
export type RegisterFolder = (folder: string) => Promise<string>;

/** What a caller is given first. Every public method can be called by whoever holds it; all else is `#`. */
export class WorldTarget extends RpcTarget implements RpcWorld {
  readonly #caller: Caller;
  readonly #registerFolder: RegisterFolder | undefined;

  constructor(caller: Caller, registerFolder?: RegisterFolder) {
    super();
    this.#caller = caller;
    this.#registerFolder = registerFolder;
  }

  async whoami(input?: unknown): Promise<Answers["whoami"]> {
    return this.#caller.run("whoami", async () => {
      checkInput("whoami", inputs.whoami, input);
      const { token, kind, actor, scopes, kernels } = this.#caller.principal;
      return {
        token,
        kind,
        actor,
        scopes: [...scopes],
        kernels: kernels === undefined ? null : [...kernels],
        server: this.#caller.hall.version,
        protocol: PROTOCOL_VERSION,
      };
    });
  }

  async listKernels(input?: unknown): Promise<Answers["listKernels"]> {
    return this.#caller.run("listKernels", async () => {
      checkInput("listKernels", inputs.listKernels, input);
      this.#caller.allow("read");
      return this.#caller.hall.listKernels(this.#caller.principal);
    });
  }

  async attachKernel(input: unknown): Promise<RpcKernel> {
    return this.#caller.run("attachKernel", async () => {
      const { kernel, trace } = checkInput("attachKernel", inputs.attachKernel, input);
      this.#caller.allow("read");
      await this.#caller.hall.kernelOf(this.#caller.principal, kernel);
      return new KernelTarget(this.#caller, kernel, trace);
    });
  }

  async createKernel(input: unknown): Promise<RpcKernel> {
    return this.#caller.run("createKernel", async () => {
      const { kernel, folder, trace } = checkInput("createKernel", inputs.createKernel, input);
      this.#caller.allow("admin");
      checkEveryKernel(this.#caller.principal);
      const made =
        folder === undefined ? await this.#create(kernel) : await this.#of(folder, kernel);
      await this.#caller.hall.kernelOf(this.#caller.principal, made);
      return new KernelTarget(this.#caller, made, trace);
    });
  }

  [Symbol.dispose](): void {
    // The connection owns everything that was given out through it.
  }

  async #create(named: string | undefined): Promise<string> {
    const kernel = named ?? `kernel-${randomUUID().slice(0, 8)}`;
    await this.#caller.hall.world.create(kernel);
    return kernel;
  }

  async #of(folder: string, named: string | undefined): Promise<string> {
    if (this.#registerFolder !== undefined && named === undefined)
      return this.#registerFolder(folder);
    throw new KumikoError(
      "invalid_argument",
      named === undefined
        ? "No folders can be registered here: pass kernel."
        : "Pass kernel or folder: a folder's kernel is named after it.",
      { argument: "folder" },
    );
  }
}
