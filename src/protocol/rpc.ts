import type { FeedMessage } from "./feed-message.ts";
import type { RpcAnswers } from "./rpc-answers.ts";
import type { RpcChannel } from "./rpc-channel.ts";
import type { RpcInputs } from "./rpc-inputs.ts";

/**
 * The capabilities of a server. The same interfaces hold in process and over the wire; who gets one owns it and
 * disposes of it, and what it was given by it goes with it.
 */
export interface RpcWorld extends Disposable {
  /** Who the token is, and which versions the server speaks. */
  whoami(): Promise<RpcAnswers["World"]["whoami"]>;
  listKernels(): Promise<RpcAnswers["World"]["listKernels"]>;
  attachKernel(input: RpcInputs["World"]["attachKernel"]): Promise<RpcKernel>;
  createKernel(input: RpcInputs["World"]["createKernel"]): Promise<RpcKernel>;
}

type Inputs = RpcInputs["Kernel"];
type Answers = RpcAnswers["Kernel"];

export interface RpcKernel extends Disposable {
  listContexts(): Promise<Answers["listContexts"]>;
  createContext(input: Inputs["createContext"]): Promise<Answers["createContext"]>;
  joinContext(input: Inputs["joinContext"]): Promise<RpcContext>;
  leaveContext(input: Inputs["leaveContext"]): Promise<Answers["leaveContext"]>;
  /** The context without becoming a member of it. */
  openContext(input: Inputs["openContext"]): Promise<RpcContext>;

  executeTool(input: Inputs["executeTool"]): Promise<Answers["executeTool"]>;
  /** Gives up calls of this connection that were named so. */
  cancelCall(input: Inputs["cancelCall"]): Promise<Answers["cancelCall"]>;
  getToolSchemas(input?: Inputs["getToolSchemas"]): Promise<Answers["getToolSchemas"]>;
  getToolFilter(): Promise<Answers["getToolFilter"]>;
  setToolFilter(input: Inputs["setToolFilter"]): Promise<Answers["setToolFilter"]>;

  pushOps(input: Inputs["pushOps"]): Promise<Answers["pushOps"]>;
  getDocumentState(input: Inputs["getDocumentState"]): Promise<Answers["getDocumentState"]>;
  subscribeBlocks(
    listener: RpcListener,
    input?: Inputs["subscribeBlocks"],
  ): Promise<RpcSubscription>;
  feed(listener: RpcListener, input?: Inputs["feed"]): Promise<RpcSubscription>;

  history(input: Inputs["history"]): Promise<Answers["history"]>;
  search(input: Inputs["search"]): Promise<Answers["search"]>;

  usage(input?: Inputs["usage"]): Promise<Answers["usage"]>;
  gaps(input: Inputs["gaps"]): Promise<Answers["gaps"]>;
  previewPurge(input: Inputs["previewPurge"]): Promise<Answers["previewPurge"]>;
  purge(input: Inputs["purge"]): Promise<Answers["purge"]>;
  retention(): Promise<Answers["retention"]>;
  setRetention(input: Inputs["setRetention"]): Promise<Answers["setRetention"]>;
  applyRetention(): Promise<Answers["applyRetention"]>;
  exportPage(input: Inputs["exportPage"]): Promise<Answers["exportPage"]>;
  authors(input?: Inputs["authors"]): Promise<Answers["authors"]>;
  verify(): Promise<Answers["verify"]>;
  /** The newest position. */
  position(): Promise<Answers["position"]>;

  /** The folders whose files are blocks; for persons. */
  mounts(): Promise<Answers["mounts"]>;
  /** Resolves when the folder is being watched. The same folder again changes its settings. */
  mount(input: Inputs["mount"]): Promise<Answers["mount"]>;
  /** Its blocks and their history stay. */
  unmount(input: Inputs["unmount"]): Promise<Answers["unmount"]>;
  /** Which rule decides about a path, and what it says. */
  explainRules(input: Inputs["explainRules"]): Promise<Answers["explainRules"]>;

  /** Ends what was subscribed to through this capability. */
  detach(): Promise<Answers["detach"]>;
  /** Closes the kernel for everybody; who attaches to it again opens it. */
  close(): Promise<Answers["close"]>;
}

export interface RpcContext extends Disposable {
  show(input?: RpcInputs["Context"]["show"]): Promise<RpcAnswers["Context"]["show"]>;
  members(): Promise<RpcAnswers["Context"]["members"]>;
  blocks(input?: RpcInputs["Context"]["blocks"]): Promise<RpcAnswers["Context"]["blocks"]>;
  post(input: RpcInputs["Context"]["post"]): Promise<RpcAnswers["Context"]["post"]>;
  executeTool(
    input: RpcInputs["Context"]["executeTool"],
  ): Promise<RpcAnswers["Context"]["executeTool"]>;
  leave(): Promise<RpcAnswers["Context"]["leave"]>;
}

export interface RpcSubscription extends Disposable {
  /** Nothing is told any more when this is answered. Disposing of it does the same. */
  end(): Promise<RpcAnswers["Subscription"]["end"]>;
}

/** Told in order. What it throws ends the subscription. */
export type RpcCallback = (message: FeedMessage) => Promise<void> | void;

/** A channel is cheaper where there is a connection, and all that is followed by many. */
export type RpcListener = RpcCallback | RpcChannel;
