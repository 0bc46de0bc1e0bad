import type { SkillReloading } from '../authoring/skill-write.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import type { ProgramSlots } from '../script/program-slots.ts'
import type { SkillScripts } from '../script/skill-scripts.ts'
import { describePlace, isError } from '../skill/diagnostic.ts'
import type { SourceReaders } from '../sync/source-readers.ts'
import { assertDemands, type Demands } from './demands.ts'
import {
  type ReloadReport,
  type SkillReload,
  type SkillReloadStatus,
  toReloadReport,
  toSkillReload,
} from './reload-report.ts'

/** The result of reloading the code of one skill. `status` has the same values as in `SkillReload`. */
export interface ScriptReload {
  readonly status: SkillReloadStatus
  /** Errors that prevent the newest text or the newest code from being served. */
  readonly errors: readonly string[]
}

export interface SkillReloadsOptions {
  readonly reader: SkillReader
  readonly sources: SourceReaders
  readonly programs: ProgramSlots
  readonly scripts: SkillScripts
  readonly events: EventBus
  readonly demands: Demands
}

/** Reads skills again when a person or a program asks for it, and reports the result. */
export class SkillReloads implements SkillReloading {
  readonly #options: SkillReloadsOptions

  constructor(options: SkillReloadsOptions) {
    this.#options = options
  }

  /**
   * Reads every source again, even if no event reported a change.
   * @throws {SkillError} CLOSED; SOURCE_MISSING, DUPLICATE_SKILL, SKILL_INVALID or HOOK_FAILED if the options turn
   * these faults into errors
   */
  async reload(): Promise<ReloadReport> {
    const { reader, sources, scripts, events } = this.#options
    const previous = reader.current
    await sources.reload()
    await scripts.ready()
    const report = toReloadReport(previous, reader.current, sources.status())
    const { generation, count, added, modified, removed } = report
    await events.emit('skills:reloaded', {
      generation: generation.number,
      digest: generation.digest,
      count,
      added,
      modified,
      removed,
      errors: report.errors.map(({ message }) => message),
    })
    this.assertDemands()
    return report
  }

  /**
   * Reads again the folders that may contain one skill, including a new folder with its name.
   * @throws {SkillError} CLOSED
   */
  async reloadSkill(name: string): Promise<SkillReload> {
    const { reader, sources, scripts } = this.#options
    const previous = reader.current
    await sources.lookAgain(name)
    const skill = reader.current.find(name)
    if (skill !== undefined) await scripts.ready(skill)
    const restless = sources.findRestless(name)
    return toSkillReload(name, { previous, generation: reader.current, restless }, sources.status())
  }

  /**
   * Reads a skill again and restarts its code, even if no file changed.
   * @throws {SkillError} CLOSED; INVALID_OPTION when the runtime has no runner; `signal.reason` when the signal aborts
   * before the code is started
   */
  async reloadScripts(name: string, signal?: AbortSignal): Promise<ScriptReload> {
    const { programs, scripts } = this.#options
    programs.requireRunner()
    const { status, errors, generation } = await this.reloadSkill(name)
    if (status === 'not-found' || generation.find(name) === undefined)
      return { status, errors: errors.map(({ message }) => message) }
    signal?.throwIfAborted()
    const { wasLoaded, problems } = await scripts.reload(name)
    const faults = problems.filter(({ severity }) => severity !== 'info')
    if (faults.length > 0) {
      const lines = faults.map(fault => {
        const { message, severity, fix } = fault
        const advice = severity === 'warning' && fix !== undefined ? ` (${fix})` : ''
        return `${describePlace(fault)} ${message}${advice}`.trim()
      })
      if (faults.some(isError) || scripts.list(name).length === 0) return { status: 'failed', errors: lines }
    }
    return { status: status === 'reloaded' && wasLoaded ? 'reloaded' : 'loaded', errors: [] }
  }

  /** @throws {SkillError} SOURCE_MISSING, DUPLICATE_SKILL or SKILL_INVALID if the options turn these faults into errors */
  assertDemands(): void {
    const { demands, reader, sources } = this.#options
    assertDemands(demands, reader.current, sources.failures())
  }
}
