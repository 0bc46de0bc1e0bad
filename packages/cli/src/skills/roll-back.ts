import type { RollbackOptions, RollbackOutcome } from '@skillstoke/core'
import { SkillError, type SkillRuntime } from '@skillstoke/core'
import { findMeant, quote, targetOf } from '@skillstoke/core/internal'
import { findLinkTarget } from '../config/real-path.ts'
import { currentUser } from './open-skills.ts'

/** Restores an earlier revision as this user. Refuses to write through a link. @throws {SkillError} as `rollback()` */
export async function rollBack(
  name: string,
  options: Omit<RollbackOptions, 'by'>,
  skills: SkillRuntime,
): Promise<RollbackOutcome> {
  await refuseLink(name, options.revision, skills)
  return await skills.history.rollback(name, { ...options, by: currentUser() })
}

/** Throws if the skill is a link, because other projects may use the target folder of the link. */
export async function refuseLink(
  name: string,
  revision: string | undefined,
  skills: SkillRuntime,
): Promise<void> {
  // A removed skill has no report. Its folder is gone and cannot be a link, so its revision can be restored.
  const report = findMeant(name, skills.current, skills)?.report
  const target = report?.directory === undefined ? undefined : findLinkTarget(report.directory)
  if (report === undefined || target === undefined) return
  const { how, to } = await skills.history.planRollback(name, revision)
  if (how === 'written')
    throw new SkillError(
      'READ_ONLY',
      `${quote(report.name)} is a link to ${target}, and rollback does not write through links; restore the text there, or serve the old revision with "stoke pin ${targetOf(report)}@${to}"; to remove the link, remove ${report.directory}`,
    )
}
