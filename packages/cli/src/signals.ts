import { EXIT_INTERRUPTED } from './exit-code.ts'

/** The first signal ends in order, a second one at once. Returns a function that stops listening. */
export function listenForSignals(end: () => void): () => void {
  let isEnding = false
  const onSignal = (): void => {
    if (isEnding) process.exit(EXIT_INTERRUPTED)
    isEnding = true
    end()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return () => {
    process.off('SIGINT', onSignal)
    process.off('SIGTERM', onSignal)
  }
}
