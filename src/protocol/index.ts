export { type EditOperation, editOperation } from "./edit-operations.ts";
export { errorBody } from "./errors.ts";
