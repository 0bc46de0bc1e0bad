import type { CatalogUse, SkillVisibility } from '@skillstoke/core/internal'

/** What each visibility means, for people. */
export const VISIBILITY_WORDS: Readonly<Record<SkillVisibility, string>> = {
  listed: 'listed in the catalog of new conversations',
  unlisted: 'unlisted, because the catalog is over its budget; only search finds it',
  hidden: 'hidden from the model; only people invoke it',
}

/** Returns a line such as `catalog 3,939 of 4,000 tokens; 62 of 999 listed, 3 hidden`. */
export function formatCatalog(use: CatalogUse): string {
  const { tokens, isEstimate, maxTokens, listed, unlisted, hidden } = use
  const used = `${isEstimate ? 'about ' : ''}${formatCount(tokens)} of ${formatCount(maxTokens)} tokens`
  const shown = `${formatCount(listed)} of ${formatCount(listed + unlisted)} listed`
  return `catalog ${used}; ${shown}${hidden === 0 ? '' : `, ${formatCount(hidden)} hidden`}`
}

export function formatCount(count: number): string {
  return count.toLocaleString('en')
}
