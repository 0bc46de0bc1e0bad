import type { RecordedDecision } from '../history/decisions.ts'
import { type Clock, systemClock } from '../host.ts'
import type { FolderPlace } from '../registry/admission.ts'
import { Lane } from '../registry/lane.ts'
import type { SkillChange } from '../registry/registry-update.ts'
import type { SkillReport } from '../registry/skill-report.ts'
import type { ScriptEvents } from '../script/script-events.ts'
import type { SkillFacet } from '../skill/diff-skills.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import type { ModelCallSkills, SkillMiss, SkillUse } from '../tool/skill-use.ts'

/** The events of a runtime, by event name. */
export interface SkillEvents extends ScriptEvents {
  'skill:added': { readonly skill: Skill }
  'skill:modified': {
    readonly oldSkill: Skill
    readonly newSkill: Skill
    readonly changed: readonly SkillFacet[]
  }
  'skill:removed': { readonly skill: Skill }
  /** The skill is not served, because another skill of the same name has precedence. */
  'skill:shadowed': SkillProblem
  /**
   * The newest text of a skill is broken, so it cannot be served. `serving` is the last good revision; absent if there
   * is no good revision.
   */
  'skill:error': SkillProblem
  /**
   * The newest text of a skill waits for approval. `serving` is the revision that is served until the approval; absent
   * if no revision is served.
   */
  'skill:pending': SkillProblem
  /** A skill was used in a conversation: its instructions or a file were read, or one of its scripts ran. */
  'skill:used': SkillUse
  /** A model asked for a skill by a name or by words that match no skill. */
  'skill:missed': SkillMiss
  /** A conversation is about to call the model: `offer()` or `update()` of its session has found its result. */
  'skills:offered': ModelCallSkills
  /** This process or another process recorded a decision about a skill folder. */
  'skill:decided': FolderPlace & { readonly decision: RecordedDecision }
  /** Emitted once for each new generation, after the events of the changed skills. */
  'skills:batch': {
    readonly generation: number
    readonly digest: Digest
    readonly changes: readonly SkillChange[]
  }
  /** Emitted when a requested reload of all sources has ended. */
  'skills:reloaded': {
    readonly generation: number
    readonly digest: Digest
    /** Number of served skills. */
    readonly count: number
    readonly added: readonly string[]
    readonly modified: readonly string[]
    readonly removed: readonly string[]
    readonly errors: readonly string[]
  }
}

export type SkillProblem = Pick<
  SkillReport,
  'name' | 'source' | 'location' | 'status' | 'serving' | 'diagnostics'
>

type SkillEventName = keyof SkillEvents
type SkillEventHandler<Name extends SkillEventName> = (payload: SkillEvents[Name]) => void | Promise<void>

/**
 * The receiver of events. The bus of this package reaches only handlers in the same process. A custom bus may forward
 * events to other processes.
 *
 * @example
 * ```ts
 * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
 *
 * const source = new MemorySource({ label: 'mine' })
 * await using skills = await createSkillRuntime({ sources: [source] })
 * const stop = skills.events.on('skill:added', ({ skill }) => console.log(skill.name)) // prints greet
 * source.put({ name: 'greet', description: 'Use when greeting.' })
 * await skills.fresh()
 * await skills.delivered()
 * stop()
 * ```
 */
export interface EventBus {
  /** Adds a handler. Returns a function that removes the handler. */
  on<Name extends keyof SkillEvents>(
    name: Name,
    handler: (payload: SkillEvents[Name]) => void | Promise<void>,
  ): () => void
  /** Emits an event. Resolves when every handler is done. Never rejects. */
  emit<Name extends keyof SkillEvents>(name: Name, payload: SkillEvents[Name]): Promise<void>
}

export interface InProcessEventBusOptions {
  /** Receives an error if a handler throws or exceeds its deadline. The bus still calls all other handlers. */
  readonly onHandlerError?: (error: unknown, name: SkillEventName) => void
  readonly clock?: Clock
}

/** Longest time in milliseconds that one handler may delay the next handlers. */
const DEADLINE_MS = 1_000

// Maximum number of waiting events per handler, so that a hanging handler cannot fill the memory. If more events wait,
// the oldest waiting events are dropped.
const MAX_BACKLOG = 1_000

/**
 * Calls and awaits handlers one after the other, in the order in which they were added. A handler that exceeds its
 * deadline no longer delays the other handlers. When a slow handler is done, the handler gets the missed events in
 * order.
 */
export class InProcessEventBus implements EventBus {
  readonly #lanes = new Map<SkillEventName, Set<Lane<SkillEvents[SkillEventName]>>>()
  readonly #options: Required<InProcessEventBusOptions>

  constructor(options: InProcessEventBusOptions = {}) {
    this.#options = {
      onHandlerError: options.onHandlerError ?? ((): void => undefined),
      clock: options.clock ?? systemClock,
    }
  }

  on<Name extends SkillEventName>(name: Name, handler: SkillEventHandler<Name>): () => void {
    const lanes = this.#lanes.get(name) ?? new Set()
    this.#lanes.set(name, lanes)
    const { onHandlerError, clock } = this.#options
    const onError = (error: unknown): void => onHandlerError(error, name)
    const lane = new Lane<SkillEvents[SkillEventName]>({
      ...{ what: 'handler', receive: handler as SkillEventHandler<SkillEventName> },
      ...{ clock, deadlineMs: DEADLINE_MS, onError },
      enqueue: (waiting, payload) => {
        if (waiting.length < MAX_BACKLOG) return [...waiting, payload]
        onError(new Error(`a handler is ${MAX_BACKLOG} events behind; the oldest event was dropped`))
        return [...waiting.slice(1), payload]
      },
    })
    lanes.add(lane)
    return () => {
      lane.close()
      lanes.delete(lane)
    }
  }

  async emit<Name extends SkillEventName>(name: Name, payload: SkillEvents[Name]): Promise<void> {
    for (const lane of [...(this.#lanes.get(name) ?? [])]) await lane.push(payload)
  }
}
