import type { Generation, SkillExplanation } from '@skillstoke/core'
import { isFailure } from './config/config.ts'

/** Adds the unreadable sources to the reason why a skill was not found, because the skill may be in one of them. */
export function withUnreadSources(explanation: SkillExplanation, generation: Generation): SkillExplanation {
  const [first, ...others] = explanation.steps
  const unread = generation
    .sources()
    .flatMap(({ label, diagnostics }) =>
      diagnostics.filter(isFailure).map(({ message }) => `${label}: ${message}`),
    )
  if (first === undefined || first.step !== 'found' || first.ok || unread.length === 0) return explanation
  const known = generation.reports().length === 0 ? [] : [`in the other sources: ${first.detail}`]
  return { ...explanation, steps: [{ ...first, detail: [...unread, ...known].join('; ') }, ...others] }
}
