export { type BlockTarget, decideBlock } from "./decide-block.ts";
export type { Decision } from "./decision.ts";
export { type Explanation, FolderRules } from "./folder-rules.ts";
export {
  type ActorKind,
  decisionOf,
  type FileOperation,
  type Level,
  whenBothChanged,
} from "./levels.ts";
export { type FileRule, parseRuleFlag, parseRules, type Rules, unreadRules } from "./rules.ts";
export { ruleWarnings, type RuleWarning } from "./warnings.ts";
