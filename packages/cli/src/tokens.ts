import type { TokenCounter } from '@skillstoke/core'

/**
 * Counts with the o200k vocabulary; an estimate for every other model. Loaded on first use, because the vocabulary
 * takes a third of a second to read.
 */
export async function loadTokenCounter(): Promise<TokenCounter> {
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
  // Skills may hold what looks like a control token of the vocabulary: it is text like any other.
  return text => countTokens(text, { disallowedSpecial: new Set() })
}
