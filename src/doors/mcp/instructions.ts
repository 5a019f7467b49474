/** What a model is told once, when it connects. */
export const instructions = [
  "Kumiko keeps conversations and files as blocks that people and agents edit at the same time.",
  "Where a tool takes a block it also takes the path of a file; an edit of a file is on disk before its answer.",
  "Read a block before you edit it by lines: your line numbers mean the version you read, and what others change elsewhere is merged.",
  "On a conflict nothing was changed: the answer shows the current lines and who wrote them; edit those.",
  "Every edit can be taken back with block_undo. Lines are counted from 0, ends are exclusive.",
].join(" ");
