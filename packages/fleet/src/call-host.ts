/**
 * Calls a function of the host. Its failure must end nothing of the fleet, so Node prints it as a warning. The function may
 * be asynchronous.
 */
export function callHost(callback: () => unknown): void {
  try {
    const result = callback()
    if (result instanceof Promise) result.catch(warn)
  } catch (thrown) {
    warn(thrown)
  }
}

/** Prints a failure of the host as a warning. */
export function warn(thrown: unknown): void {
  process.emitWarning(thrown instanceof Error ? thrown : String(thrown))
}
