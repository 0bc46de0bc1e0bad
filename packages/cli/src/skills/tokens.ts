import { createRequire } from 'node:module'
import type { SkillCatalog, TokenCounter } from '@skillstoke/core'
import { approximateTokens, type CatalogUse } from '@skillstoke/core/internal'
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

/**
 * Returns the size of a catalog that was rendered with `createCatalogCounter()`. Estimates the size of a short catalog,
 * because all its skills certainly fit and an exact count would load the vocabulary.
 */
export function measureQuickly(
  { text, tokens }: SkillCatalog,
  maxTokens: number,
): Pick<CatalogUse, 'tokens' | 'isEstimate'> {
  const isShort = text !== '' && Buffer.byteLength(text) <= maxTokens
  return { tokens: isShort ? approximateTokens(text) : tokens, isEstimate: isShort }
}

/** Returns the size of a catalog that was rendered with `countTokens()`. */
export function measureExactly({ tokens }: SkillCatalog): Pick<CatalogUse, 'tokens' | 'isEstimate'> {
  return { tokens, isEstimate: false }
}
