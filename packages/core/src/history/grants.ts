import { declaredCapabilities, isCapability, type ScriptCapability } from '../skill/capabilities.ts'
import type { Skill } from '../skill/skill.ts'
import type { SourceTrust } from '../skill/trust.ts'
import type { FolderDecisions } from './decisions.ts'

/**
 * Returns the capabilities that the scripts of a revision may use. In a trusted source, a grant is for the folder, so
 * the grant stays valid after an edit. In a reviewed source, a revision has the capabilities that it declared when it
 * was approved. The revision also has the capabilities that were granted to it alone.
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
