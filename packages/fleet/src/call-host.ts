/** Calls a function of the host. Its failure must end nothing of the fleet, so Node prints it as a warning. */
export function callHost(callback: () => void): void {
  try {
    callback()
  } catch (thrown) {
    process.emitWarning(thrown instanceof Error ? thrown : String(thrown))
  }
}
