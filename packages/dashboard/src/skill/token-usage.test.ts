import { expect, test } from 'vitest'
import { describeUsage } from './token-usage.ts'

test.each([
  [{ inputTokens: 0, outputTokens: 0 }, 'the provider reported no tokens'],
  [{ inputTokens: 1_200, outputTokens: 7 }, '1,200 tokens in, 7 out'],
  [
    { inputTokens: 1_200, outputTokens: 7, cacheReadTokens: 1_000 },
    '1,200 tokens in, 1,000 of them from the cache, 7 out',
  ],
  [
    { inputTokens: 1_200, outputTokens: 7, cacheReadTokens: 1_000, cacheWriteTokens: 150 },
    '1,200 tokens in, 1,000 of them from the cache, 150 written to the cache, 7 out',
  ],
])('describeUsage(%j)', (usage, text) => {
  expect(describeUsage({ cacheReadTokens: 0, cacheWriteTokens: 0, ...usage })).toBe(text)
})
