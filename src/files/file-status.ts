/** How a block and its file stand to one another. */
export const fileStatuses = [
  "synced",
  "block_ahead",
  "disk_ahead",
  "both_changed",
  "deleted",
  "conflict",
  "binary",
  "too_large",
  "unreadable",
  "not_loaded",
] as const;

export type FileStatus = (typeof fileStatuses)[number];
