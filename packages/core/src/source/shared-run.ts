/**
 * Returns a function that runs `work` for many callers. Runs never overlap. Callers that arrive during a run share the
 * next run, because the current run may miss their latest changes. A call resolves at the end of its run.
 */
export function shareRuns(work: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined
  const start = async (): Promise<void> => {
    await current.catch(() => undefined)
    next = undefined
    current = work()
    await current
  }
  return () => {
    next ??= start()
    return next
  }
}
