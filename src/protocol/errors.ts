import * as z from "zod";
import { type ErrorCode, errorCodes } from "../base/index.ts";

/** How an error crosses any boundary: the same shape on every door. */
export const errorBody = z.strictObject({
  code: z.enum(Object.keys(errorCodes) as [ErrorCode, ...ErrorCode[]]),
  message: z.string().min(1),
  facts: z.record(z.string(), z.json()),
});
