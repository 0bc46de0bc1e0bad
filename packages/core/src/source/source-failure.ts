import { toMessage } from '../errors.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'

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
