import { declaredCapabilities, isCapability, type ScriptCapability } from '../skill/capabilities.ts'
import type { Skill } from '../skill/skill.ts'
import type { SourceTrust } from '../skill/trust.ts'
import type { FolderDecisions } from './decisions.ts'

/**
 * What the scripts of a revision may do. Where changes go live by themselves it is what was granted to the folder, so an
 * edit that asks for nothing new needs nobody. Where they are reviewed it is what this very revision asked for when it
 * was approved, and what was granted to it.
 */
export function grantedTo(
  skill: Skill,
  trust: SourceTrust,
  decided: FolderDecisions | undefined,
): readonly ScriptCapability[] {
  const granted = (decided?.granted ?? []).filter(({ revision }) =>
    trust === 'auto' && revision === undefined ? true : revision === skill.revision,
  )
  const isApproved = trust === 'review' && decided?.approved.has(skill.revision) === true
  const revoked = decided?.revoked ?? new Set()
  const approved = isApproved
    ? declaredCapabilities(skill).filter(word => isCapability(word) && !revoked.has(word))
    : []
  return [...new Set([...approved, ...granted.map(({ capability }) => capability)])]
}
