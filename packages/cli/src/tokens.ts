import { createRequire } from 'node:module'
import type { TokenCounter } from '@skillstoke/core'
import type * as O200k from './o200k.ts'

const require = createRequire(import.meta.url)

/**
 * Counts tokens with the o200k vocabulary, which is an estimate for other models. Loads the vocabulary at the first count,
 * because loading takes a third of a second and many commands count nothing.
 */
export function countTokens(text: string): number {
  const vocabulary = require('#o200k') as typeof O200k
  // Treats control tokens of the vocabulary in skills as ordinary text.
  return vocabulary.countTokens(text, { disallowedSpecial: new Set() })
}

/**
 * Returns a counter for catalogs whose token count is never shown. A token has at least one byte, so a text with at most
 * `maxTokens` bytes fits. For such a text the counter returns the number of bytes, which is faster.
 */
export function createCatalogCounter(maxTokens: number): TokenCounter {
  return text => {
    const bytes = Buffer.byteLength(text)
    return bytes <= maxTokens ? bytes : countTokens(text)
  }
}
