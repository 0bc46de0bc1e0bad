import { SkillError, type SkillStatus } from '@skillstoke/core'
import { countSkills, type SourcesStatus, shortDigest, viewCatalog } from '@skillstoke/core/internal'
import { childProcesses } from '@skillstoke/scripts'
import { judgeStatuses, toSetting } from '../check/skill-findings.ts'
import { type Config, pathsOf } from '../config/config.ts'
import { toAnswering } from '../skills/answering.ts'
import { askOrScan, describeSource } from '../skills/ask-or-scan.ts'
import type { Answer } from '../terminal/answer.ts'
import { formatCatalog } from '../terminal/format-catalog.ts'
import { formatDiagnostic, formatTable, paint, paintStatus } from '../terminal/output.ts'

interface Containment {
  readonly kind: keyof typeof CONTAINED
  readonly detail: string
}

const CONTAINED = {
  sandbox: 'scripts are contained by ',
  permissions: 'scripts are contained by the permissions of Node only: ',
  none: 'scripts do not run: ',
} as const

/** Implements `stoke status`: prints the sources, how they are watched, and how many skills were found. */
export async function status(config: Config): Promise<Answer> {
  const { answer, from } = await askOrScan<SourcesStatus>(
    config,
    {
      ask: async client => await client.status(),
      scan: async skills => ({
        ...countSkills(
          skills,
          pathsOf(config),
          skills.current,
          await judgeStatuses(toSetting(skills, config)),
        ),
        catalog: viewCatalog(toAnswering(skills, config)).use,
      }),
    },
    { watching: 'auto', reportsUnreadable: true, polling: 'manual' },
  )
  const { generation, counts, sources, catalog } = answer
  const { stateDirectory } = config
  return {
    json: { generation, counts, sources, catalog, stateDirectory, from },
    text: async function* () {
      const rows = sources.map(source => [
        source.path,
        source.label,
        source.mode,
        String(source.skills),
        source.lastError ?? (source.isMissing ? 'missing' : source.reason) ?? describeVersion(source.version),
      ])
      yield formatTable([['ROOT', 'LABEL', 'MODE', 'SKILLS', 'NOTE'], ...rows])
      for (const source of sources) yield* source.diagnostics.map(each => formatDiagnostic(each))
      const summary = (Object.keys(counts) as SkillStatus[])
        .filter(each => counts[each] !== 0)
        .map(each => `${counts[each]} ${paintStatus(each)}`)
      yield `${summary.length === 0 ? 'no skills' : summary.join(', ')}; generation ${generation.number} ${shortDigest(generation.digest)}`
      yield formatCatalog(catalog)
      const { kind, detail } = await findContainment(config)
      yield paint('dim', `${CONTAINED[kind]}${detail}`)
      yield paint('dim', `state in ${stateDirectory}`)
      yield describeSource(from, config)
    },
  }
}

/** Returns a text such as `at 1a2b3c4d5e` for the version of a source, which may be a commit or a digest. */
function describeVersion(version: string | undefined): string {
  return version === undefined ? '' : `at ${version.replace(/^sha256:/, '').slice(0, 10)}`
}

/** Returns how scripts are contained; `none` if no script runs here. */
export async function findContainment({ sandbox }: Config): Promise<Containment> {
  try {
    return await childProcesses({ sandbox }).containment()
  } catch (thrown) {
    if (!SkillError.isInstance(thrown, 'UNSUPPORTED_RUNTIME')) throw thrown
    return { kind: 'none', detail: thrown.message }
  }
}
