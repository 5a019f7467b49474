import { KumikoError } from "../../base/index.ts";
import { type FeedMessage, type RpcCallback, rpcChannel } from "../../protocol/index.ts";
import type { Channels } from "./channels.ts";
import { ToldMessage } from "./told-message.ts";

/** Messages under way to a callback, and on a channel, where several are answered at once. */
const CALLBACK_WINDOW = 2;
const CHANNEL_WINDOW = 64;

/** Who is told, whichever way. The subscription owns it. */
export interface Listener extends Disposable {
  readonly window: number;
  /** Calls one of the two when they are done with it. */
  tell(message: FeedMessage, answered: () => void, failed: (error: unknown) => void): void;
}

/** A callback over the wire is a stub: ours from when it is doubled until we dispose of it. In process it is a function. */
type OwnedCallback = RpcCallback & { dup?(): OwnedCallback } & Partial<Disposable>;

export function listenerOf(given: unknown, channels: Channels | undefined): Listener {
  if (typeof given === "function") return callbackListener(given as OwnedCallback);
  const { success, data } = rpcChannel.safeParse(given);
  if (!success || channels === undefined) {
    throw new KumikoError(
      "invalid_argument",
      "The listener must be a function, or a channel of the connection.",
      { argument: "listener" },
    );
  }
  const channel = channels.open(data.channel);
  return {
    window: CHANNEL_WINDOW,
    tell: (message, answered) => channel.tell(ToldMessage.of(message), answered),
    [Symbol.dispose]: () => channel[Symbol.dispose](),
  };
}

function callbackListener(given: OwnedCallback): Listener {
  const callback = given.dup?.() ?? given;
  return {
    window: CALLBACK_WINDOW,
    tell(message, answered, failed) {
      call(callback, message).then(answered, failed);
    },
    [Symbol.dispose]: () => callback[Symbol.dispose]?.(),
  };
}

async function call(callback: RpcCallback, message: FeedMessage): Promise<void> {
  await callback(message);
}
