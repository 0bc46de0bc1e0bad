import { toMessage } from '../errors.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { StoreFault } from '../store/skill-store.ts'

/** What is told when a place could not be read; `rest` says what is shown of it all the same. */
export function describeFailure(
  origin: string,
  thrown: unknown,
  rest = 'its last contents stay',
): Diagnostic {
  return {
    code: 'SOURCE_FAILED',
    severity: 'error',
    message: `the source could not be read: ${toMessage(thrown)}; ${rest}`,
    path: origin,
  }
}

/** What is told while something is wrong with the store. */
export function describeStoreFault({ message, isStoring }: StoreFault): Diagnostic {
  const diagnostic = { code: 'STORE_FAILED', severity: 'warning' } as const
  if (isStoring) return { ...diagnostic, message }
  return {
    ...diagnostic,
    message: `what is read is not being stored: ${message}; it is served from memory and does not outlive this process`,
    fix: 'make room for the state directory, or make it writable; what is missing is stored then',
  }
}
