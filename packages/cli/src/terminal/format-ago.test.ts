import { expect, test } from 'vitest'
import { formatAgo } from './format-ago.ts'
import { formatCatalog } from './format-catalog.ts'

test.each([
  [0, 'just now'],
  [-3_000, 'just now'],
  [59_999, '59 s ago'],
  [2 * 60_000, '2 min ago'],
  [3_600_000, '1 h ago'],
  [26 * 3_600_000, '1 day ago'],
  [72 * 3_600_000, '3 days ago'],
])('formatAgo() shows %i ms as %j', (ms, shown) => {
  expect(formatAgo(1_000_000_000 - ms, 1_000_000_000)).toBe(shown)
})

test('formatCatalog() marks an estimate, and names hidden skills only if there are some', () => {
  const use = { tokens: 3_939, isEstimate: false, maxTokens: 4_000, listed: 62, unlisted: 937, hidden: 3 }
  expect(formatCatalog(use)).toBe('catalog 3,939 of 4,000 tokens; 62 of 999 listed, 3 hidden')
  expect(formatCatalog({ ...use, isEstimate: true, unlisted: 0, hidden: 0 })).toBe(
    'catalog about 3,939 of 4,000 tokens; 62 of 62 listed',
  )
})
