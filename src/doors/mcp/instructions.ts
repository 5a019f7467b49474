/** What a model is told once, when it connects. */
export const instructions = [
  "Kumiko keeps conversations and files as blocks that people and agents edit at the same time.",
  "Read a block before you edit it by lines: your line numbers mean the version you read, and what others change elsewhere is merged.",
  "On a conflict nothing was changed: the answer shows the current lines and who wrote them; edit those.",
  "Every edit can be taken back with block_undo. Lines are counted from 0, ends are exclusive.",
].join(" ");
