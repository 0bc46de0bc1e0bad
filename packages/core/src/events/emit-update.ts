import { defined } from '../defined.ts'
import type { Logger } from '../host.ts'
import type { RegistryUpdate } from '../registry/registry-update.ts'
import type { SkillStatus } from '../registry/skill-report.ts'
import type { UpdateSubscriber } from '../registry/subscriptions.ts'
import type { SkillFacet } from '../skill/diff-skills.ts'
import type { EventBus } from './event-bus.ts'
import { logUpdate } from './log-update.ts'

export interface EmitOptions {
  readonly bus: EventBus
  readonly logger: Logger
  /**
   * The facets whose changes emit `skill:modified`. The event `skills:batch` contains all changes, whatever their
   * facets.
   */
  readonly modifiedOn: ReadonlySet<SkillFacet>
}

/**
 * Logs the problems of a registry update, then emits one event for each change, one for each problem and one for the
 * batch.
 */
export function createEmitter({ bus, logger, modifiedOn }: EmitOptions): UpdateSubscriber {
  return async update => {
    logUpdate(logger, update) // log first, because a handler of the bus may be slow
    await emitUpdate(update, bus, modifiedOn)
  }
}

async function emitUpdate(
  update: RegistryUpdate,
  bus: EventBus,
  modifiedOn: ReadonlySet<SkillFacet>,
): Promise<void> {
  for (const change of update.changes) {
    if (change.kind !== 'modified') await bus.emit(`skill:${change.kind}`, { skill: change.skill })
    else if (change.facets.some(facet => modifiedOn.has(facet))) {
      const { oldSkill, newSkill, facets: changed } = change
      await bus.emit('skill:modified', { oldSkill, newSkill, changed })
    }
  }
  for (const { name, source, location, status, serving, diagnostics } of update.reports) {
    const event = PROBLEMS.get(status)
    const problem = { name, source, location, status, diagnostics, ...defined({ serving }) }
    if (event !== undefined) await bus.emit(event, problem)
  }
  const { number, digest } = update.generation
  await bus.emit('skills:batch', { generation: number, digest, changes: update.changes })
}

const PROBLEMS: ReadonlyMap<SkillStatus, 'skill:error' | 'skill:pending' | 'skill:shadowed'> = new Map([
  ['broken', 'skill:error'],
  ['pending', 'skill:pending'],
  ['shadowed', 'skill:shadowed'],
])
