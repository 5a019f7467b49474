/** Verbs that are made from tools: as `kumiko <family> <verb>`, and the frequent ones by themselves. */
export const families = {
  block: "read and change blocks: one verb per tool",
  file: "load, save, list and compare files on disk: one verb per tool",
  kernel: "make, list and search kernels",
};
export const aliases: { readonly [verb: string]: { tools: readonly string[]; summary: string } } = {
  search: {
    tools: ["kernel_search", "block_search"],
    summary: "find text in all blocks of the kernel, or in one",
  },
  history: { tools: ["block_history"], summary: "list the versions of a block" },
  blame: { tools: ["block_blame"], summary: "say who wrote what in a block" },
  undo: { tools: ["block_undo"], summary: "take an Edit back, and nothing else" },
  redo: { tools: ["block_redo"], summary: "bring back what was undone" },
  rollback: { tools: ["block_rollback"], summary: "make a block what it was at a version" },
};
