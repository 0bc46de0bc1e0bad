import { EXIT_INTERRUPTED } from './exit-code.ts'

/** Calls `end` at the first signal, and exits at once at the second. Returns a function that stops listening. */
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

/** Sent by Ctrl-C, by a supervisor, and by a terminal that closes. */
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
