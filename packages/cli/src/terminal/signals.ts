import { EXIT_INTERRUPTED } from './exit-code.ts'

/**
 * Returns a controller that the first signal aborts. The second signal exits immediately. Listens until it is disposed.
 */
export function abortOnSignal(): AbortController & Disposable {
  const end = new AbortController()
  let isEnding = false
  const onSignal = (): void => {
    if (isEnding) process.exit(EXIT_INTERRUPTED)
    isEnding = true
    end.abort()
  }
  for (const name of ENDING_SIGNALS) process.on(name, onSignal)
  return Object.assign(end, {
    [Symbol.dispose]: () => {
      for (const name of ENDING_SIGNALS) process.off(name, onSignal)
    },
  })
}

/** Signals that Ctrl-C, a supervisor or a closing terminal sends. */
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
