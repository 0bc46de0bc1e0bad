/** Prints a failure of the host, which must end nothing of the fleet, as a warning of Node. */
export function warn(thrown: unknown): void {
  process.emitWarning(thrown instanceof Error ? thrown : String(thrown))
}
