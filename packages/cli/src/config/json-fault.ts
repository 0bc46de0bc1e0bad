import { toMessage } from '@skillstoke/core/internal'

/** Returns what `JSON.parse` reports, on one line, and without a second "is not valid JSON". */
export function describeJsonFault(thrown: unknown): string {
  return toMessage(thrown)
    .replace(/ is not valid JSON$/, '')
    .replace(/\r?\n/g, '\\n')
}
