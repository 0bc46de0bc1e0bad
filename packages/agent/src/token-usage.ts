import type { LanguageModelUsage } from 'ai'

/** Numbers of tokens, as the provider reports them. A number that the provider does not report is 0. */
export interface TokenUsage {
  /** All tokens of the requests, including the cached ones. */
  readonly inputTokens: number
  readonly outputTokens: number
  /** The input tokens that the provider read from its prompt cache. */
  readonly cacheReadTokens: number
  /** The input tokens that the provider wrote to its prompt cache. */
  readonly cacheWriteTokens: number
}

export const NO_USAGE: TokenUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
}

export function toTokenUsage({
  inputTokens = 0,
  outputTokens = 0,
  inputTokenDetails: { cacheReadTokens = 0, cacheWriteTokens = 0 },
}: LanguageModelUsage): TokenUsage {
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }
}

export function addUsage(a: TokenUsage, b: TokenUsage): TokenUsage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
  }
}
