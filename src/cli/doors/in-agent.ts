/** A server that an agent's `kumiko mcp` is, and what to do when that is not wanted. */
export function endsWithAgent(pid: number): string {
  return (
    `It runs inside an agent (process ${pid}) and ends with it. For one that stays, end that agent, ` +
    "run kumiko serve, and start the agent again: it joins."
  );
}
