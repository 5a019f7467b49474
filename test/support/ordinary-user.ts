const NOBODY = 65_534;

/** Root may enter what others may not. */
export async function asOrdinaryUser(run: () => Promise<void>): Promise<void> {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    await run();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}
