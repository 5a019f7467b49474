import * as z from "zod";
import { feedMessage } from "./feed-message.ts";
import { rpcChannel } from "./rpc-channel.ts";

/** From the server, on a channel. */
export const channelMessage = z.strictObject({ ...rpcChannel.shape, message: feedMessage });
