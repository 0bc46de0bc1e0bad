/** Runs a synchronous call of the system. Ignores a failure with one of these codes. */
export function ignoring(codes: readonly string[], call: () => void): void {
  try {
    call()
  } catch (thrown) {
    if (!codes.includes((thrown as NodeJS.ErrnoException).code ?? '')) throw thrown
  }
}
