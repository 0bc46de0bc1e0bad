import type { EventBus, SkillEvents } from '../events/event-bus.ts'
import type { DecisionStore } from '../history/decisions.ts'
import type { SkillReview } from '../history/skill-review.ts'
import type { Clock, Logger } from '../host.ts'
import { type FolderPlace, placeOf } from '../registry/admission.ts'
import type { SkillRegistry } from '../registry/skill-registry.ts'
import type { ScriptRunner } from '../script/script-runner.ts'
import { SkillScripts } from '../script/skill-scripts.ts'
import type { Skill } from '../skill/skill.ts'
import type { SkillSource } from '../source/skill-source.ts'
import type { SkillStore } from '../store/skill-store.ts'
import type { SourceReaders } from './source-readers.ts'

export interface ScriptsParts {
  readonly runner: ScriptRunner
  readonly registry: SkillRegistry
  readonly sources: SourceReaders
  readonly store: SkillStore
  readonly review: SkillReview
  readonly decisions: DecisionStore
  readonly events: EventBus
  readonly clock: Clock
  readonly logger: Logger
}

/** Code of skills, with what it needs of a runtime. */
export function createScripts(parts: ScriptsParts): SkillScripts {
  const { runner, registry, sources, store, review, decisions, events, clock, logger } = parts
  const findSource = (label: string): SkillSource | undefined => sources.find(each => each.label === label)
  const refOf = ({ origin }: FolderPlace, { name }: Skill): string => JSON.stringify(['code', origin, name])
  const scripts = new SkillScripts({
    runner,
    store,
    clock,
    logger,
    current: () => registry.current,
    refresh: name => sources.refresh(name),
    isSameFolder: (a, b) => registry.isSameFolder(a, b),
    grantedTo: skill => review.grantedTo({ ...skill, location: registry.locationOf(skill) }),
    isRejected: skill => {
      const place = placeOf({ ...skill, location: registry.locationOf(skill) }, findSource)
      return place !== undefined && decisions.find(place)?.rejected.has(skill.revision) === true
    },
    remark: (skill, diagnostics) => registry.remark(skill, diagnostics),
    remember: skill => {
      const place = placeOf(skill, findSource)
      if (place !== undefined) store.setRef(refOf(place, skill), skill.revision)
    },
    forget: skill => {
      const place = placeOf(skill, findSource)
      if (place !== undefined) store.setRef(refOf(place, skill), undefined)
    },
    readRemembered: async skill => {
      const place = placeOf(skill, findSource)
      const revision = place === undefined ? undefined : store.getRef(refOf(place, skill))
      if (place === undefined || revision === undefined || revision === skill.revision) return undefined
      return await registry.readRevision(place, revision)
    },
    // Every event of scripts is one of the bus, with the same payload.
    tell: (name, payload) => void events.emit(name, payload as SkillEvents[typeof name]),
  })
  decisions.subscribe(made => {
    if (made.some(({ decision }) => AFFECTING.includes(decision.kind))) scripts.reconsider()
  })
  return scripts
}

/** What decides about code although the same text is served. */
const AFFECTING: readonly string[] = ['grant', 'revoke', 'approve', 'reject']
