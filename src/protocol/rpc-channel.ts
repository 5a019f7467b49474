import * as z from "zod";

/**
 * A way for what a subscription tells, beside calls and on the same connection: a message of its own each, without
 * the four that a call takes. The client chooses the number, which no other of its connection has.
 */
export const rpcChannel = z.strictObject({ channel: z.int().min(1).max(0xffff_ffff) });
export type RpcChannel = z.output<typeof rpcChannel>;

/** From the client: how many further messages it is done with, in the order they came. */
export const channelDone = z.strictObject({ ...rpcChannel.shape, done: z.int().min(1) });
