import type { TokenUsage } from 'skillstoke/client'
import { formatCount } from '../parts/format.ts'

/** Describes the tokens of one or more model calls. Leaves out the numbers that the provider did not report. */
export function describeUsage(usage: TokenUsage): string {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage
  if (inputTokens === 0 && outputTokens === 0) return 'the provider reported no tokens'
  return [
    `${formatCount(inputTokens)} tokens in`,
    ...(cacheReadTokens === 0 ? [] : [`${formatCount(cacheReadTokens)} of them from the cache`]),
    ...(cacheWriteTokens === 0 ? [] : [`${formatCount(cacheWriteTokens)} written to the cache`]),
    `${formatCount(outputTokens)} out`,
  ].join(', ')
}
