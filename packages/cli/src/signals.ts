import { EXIT_INTERRUPTED } from './exit-code.ts'

/** The first signal ends in order, a second one at once. Returns a function that stops listening. */
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

/** Ctrl-C, the end by a supervisor, and a terminal that is closed. */
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
