import { createRequire } from 'node:module'
import type { TokenCounter } from '@skillstoke/core'
import type * as O200k from './o200k.ts'

const require = createRequire(import.meta.url)

/**
 * Counts with the o200k vocabulary; an estimate for every other model. The vocabulary is read at the first count, because it
 * takes a third of a second, and many commands end without one.
 */
export function countTokens(text: string): number {
  const vocabulary = require('#o200k') as typeof O200k
  // Skills may hold what looks like a control token of the vocabulary: it is text like any other.
  return vocabulary.countTokens(text, { disallowedSpecial: new Set() })
}

/**
 * Returns a counter for catalogs of which nobody is told the tokens. A token is at least one byte long, so a text of no more
 * bytes than a catalog may have tokens fits without being counted: the answer then is the bytes.
 */
export function createCatalogCounter(maxTokens: number): TokenCounter {
  return text => {
    const bytes = Buffer.byteLength(text)
    return bytes <= maxTokens ? bytes : countTokens(text)
  }
}
