import type { SkillReport } from '../registry/generation.ts'
import type { RegistryUpdate } from '../registry/registry-update.ts'
import type { Facet } from '../skill/diff-skills.ts'
import type { EventBus, SkillProblem } from './event-bus.ts'

/**
 * Tells a bus of a registry update: each change, then each problem, then the batch. A change that is in none of the
 * facets of `modifiedOn` makes no `skill:modified`; the batch has it all the same.
 */
export async function emitUpdate(
  bus: EventBus,
  update: RegistryUpdate,
  modifiedOn: ReadonlySet<Facet>,
): Promise<void> {
  for (const change of update.changes) {
    switch (change.kind) {
      case 'added':
        await bus.emit('skill:added', { skill: change.skill })
        break
      case 'modified':
        if (!change.facets.some(facet => modifiedOn.has(facet))) break
        await bus.emit('skill:modified', {
          oldSkill: change.oldSkill,
          newSkill: change.newSkill,
          changed: change.facets,
        })
        break
      case 'removed':
        await bus.emit('skill:removed', { skill: change.skill })
        break
      default:
        change satisfies never
    }
  }
  for (const report of update.reports) {
    if (report.status === 'broken') await bus.emit('skill:error', toProblem(report))
    else if (report.status === 'pending') await bus.emit('skill:pending', toProblem(report))
    else if (report.status === 'shadowed') await bus.emit('skill:shadowed', toProblem(report))
  }
  const { number, digest } = update.generation
  await bus.emit('skills:batch', { generation: number, digest, changes: update.changes })
}

function toProblem(report: SkillReport): SkillProblem {
  const { name, source, location, status, serving, diagnostics } = report
  return { name, source, location, status, diagnostics, ...(serving === undefined ? {} : { serving }) }
}
