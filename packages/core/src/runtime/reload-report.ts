import type { SkillError } from '../errors.ts'
import type { Generation } from '../registry/generation.ts'
import { diffGenerations } from '../registry/registry-update.ts'
import type { SkillReport } from '../registry/skill-report.ts'
import { isError } from '../skill/diagnostic.ts'
import type { SourceStatus } from '../sync/source-sync.ts'

/** An error that prevents a source or a skill from going live. */
export interface ReloadProblem {
  readonly source: string
  /** Name of the skill; absent if the whole source could not be read. */
  readonly skill?: string
  readonly message: string
}

/** The result of a reload: the names of changed skills, and the errors. */
export interface ReloadReport {
  readonly previous: Generation
  readonly generation: Generation
  /** Number of served skills. */
  readonly count: number
  readonly added: readonly string[]
  readonly modified: readonly string[]
  readonly removed: readonly string[]
  readonly errors: readonly ReloadProblem[]
}

/**
 * The result of reloading one skill.
 * - `reloaded`: the skill was served before, and was read again.
 * - `loaded`: the skill was not served before, and is served now.
 * - `not-found`: no source has a skill of this name.
 * - `failed`: the newest text of the skill cannot be served.
 */
export type SkillReloadStatus = 'reloaded' | 'loaded' | 'not-found' | 'failed'

export interface SkillReload {
  readonly status: SkillReloadStatus
  /** True if the served skill changed, appeared or disappeared. */
  readonly isChanged: boolean
  readonly generation: Generation
  readonly errors: readonly ReloadProblem[]
}

export function toReloadReport(
  previous: Generation,
  generation: Generation,
  sources: readonly SourceStatus[],
): ReloadReport {
  const changes = diffGenerations(previous, generation)
  const namesOf = (kind: 'added' | 'modified' | 'removed'): readonly string[] =>
    changes.flatMap(change => (change.kind === kind ? change.name : []))
  const failed = sources.flatMap(({ label, lastError }) =>
    lastError === undefined ? [] : { source: label, message: lastError },
  )
  return Object.freeze({
    previous,
    generation,
    count: generation.list().length,
    added: namesOf('added'),
    modified: namesOf('modified'),
    removed: namesOf('removed'),
    errors: [...failed, ...findRestless(generation), ...generation.reports().flatMap(toProblems)],
  })
}

/** Returns one problem for each folder that never came to rest, because the reload did not read its newest text. */
function findRestless(generation: Generation): ReloadProblem[] {
  return generation
    .sources()
    .flatMap(({ label, diagnostics }) =>
      diagnostics.flatMap(({ code, message }) =>
        code === 'FOLDER_UNSTABLE' ? { source: label, message } : [],
      ),
    )
}

export interface SkillReloadOutcome {
  readonly previous: Generation
  readonly generation: Generation
  /** Why the newest text of the skill could not be read. */
  readonly restless: SkillError | undefined
}

export function toSkillReload(
  name: string,
  { previous, generation, restless }: SkillReloadOutcome,
  sources: readonly SourceStatus[],
): SkillReload {
  const [before, now] = [previous.find(name), generation.find(name)]
  const reports = generation.reports().filter(report => report.name === name)
  // Use the report of the skill that is served under this name. If no skill is served, use all reports for this name.
  const serving = reports.filter(report => report.serving !== undefined)
  const judged = serving.length > 0 ? serving : reports
  const places = new Set(judged.map(({ source }) => source))
  const failed = sources.flatMap(({ label, lastError }) =>
    lastError !== undefined && places.has(label) ? { source: label, message: lastError } : [],
  )
  const unread =
    restless === undefined
      ? []
      : judged.slice(0, 1).map(({ source }) => ({ source, skill: name, message: restless.message }))
  const errors = [...failed, ...unread, ...judged.flatMap(toProblems)]
  const status = (): SkillReloadStatus => {
    if (reports.length === 0) return 'not-found'
    if (errors.length > 0 || now === undefined) return 'failed'
    return before === undefined ? 'loaded' : 'reloaded'
  }
  return Object.freeze({ status: status(), isChanged: before !== now, generation, errors })
}

function toProblems({ status, source, name, diagnostics }: SkillReport): ReloadProblem[] {
  if (status !== 'broken') return []
  return diagnostics.filter(isError).map(({ message, path, line }) => ({
    source,
    skill: name,
    message: `${path ?? name}${line === undefined ? '' : `:${line}`}: ${message}`,
  }))
}
