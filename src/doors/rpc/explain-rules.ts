import { findPlace, type Mounts } from "../../files/index.ts";
import type { RpcAnswers } from "../../protocol/index.ts";

/** Which rules hold for a path, and what follows from them. */
export function explainRules(mounts: Mounts, given: string): RpcAnswers["Kernel"]["explainRules"] {
  const { mount, path } = findPlace(mounts, given);
  const { level, looked, protections, operations } = mount.rules.explain(path);
  const trouble = mount.rulesTrouble?.message;
  return {
    ...(trouble !== undefined && { trouble }),
    mount: mount.name,
    folder: mount.root,
    path,
    level,
    looked: looked.map(({ pattern, from, level: each, escalate, matched }) => ({
      pattern,
      from,
      level: each,
      ...(escalate.length > 0 && { escalate: [...escalate] }),
      matched,
    })),
    protections: protections.map((each) => ({ ...each })),
    operations: operations.map(({ operation, agent, person }) => ({
      operation,
      agent: { decision: agent.decision, reason: agent.reason },
      person: { decision: person.decision, reason: person.reason },
    })),
  };
}
