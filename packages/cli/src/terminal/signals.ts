import { EXIT_INTERRUPTED } from './exit-code.ts'

/**
 * Calls `end` at the first signal, and exits immediately at the second signal. Returns a function that stops listening.
 */
export function listenForSignals(end: () => void): () => void {
  let isEnding = false
  const onSignal = (): void => {
    if (isEnding) process.exit(EXIT_INTERRUPTED)
    isEnding = true
    end()
  }
  for (const name of ENDING_SIGNALS) process.on(name, onSignal)
  return () => {
    for (const name of ENDING_SIGNALS) process.off(name, onSignal)
  }
}

/** Signals that Ctrl-C, a supervisor or a closing terminal sends. */
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
