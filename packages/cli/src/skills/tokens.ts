import { createRequire } from 'node:module'
import type { TokenCounter } from '@skillstoke/core'
import type * as O200k from './o200k.ts'

const require = createRequire(import.meta.url)

/**
 * Counts tokens with the o200k vocabulary. For models with another vocabulary, the count is an estimate. Loads the
 * vocabulary at the first count, because loading takes a third of a second and many commands never count tokens.
 */
export function countTokens(text: string): number {
  const vocabulary = require('#o200k') as typeof O200k
  // Counts a control token of the vocabulary as ordinary text if it occurs in a skill.
  return vocabulary.countTokens(text, { disallowedSpecial: new Set() })
}

/**
 * Returns a token counter that only decides whether a catalog exceeds `maxTokens`. A token has at least one byte, so a
 * text with at most `maxTokens` bytes has at most `maxTokens` tokens. For such a short text, the counter returns the
 * number of bytes, because counting tokens is slower.
 */
export function createCatalogCounter(maxTokens: number): TokenCounter {
  return text => {
    const bytes = Buffer.byteLength(text)
    return bytes <= maxTokens ? bytes : countTokens(text)
  }
}
