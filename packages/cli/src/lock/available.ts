import { statSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import {
  createSkillRuntime,
  type Diagnostic,
  type Skill,
  SkillError,
  type SkillReport,
  type SkillRuntime,
} from '@skillstoke/core'
import { findHiddenIn, type replaceFolder, toMessage } from '@skillstoke/core/internal'
import { directory, nodeHasher } from '@skillstoke/core/node'
import type { SkillSource } from '@skillstoke/core/source'
import type { Config } from '../config/config.ts'
import { createRemote, parseSourceFlag, type RemoteSetup } from '../config/remote-config.ts'
import { assertInside, type ConfigSource, SOURCE_KINDS } from '../config/source-kinds.ts'
import { UsageError } from '../terminal/exit-code.ts'

/** The present state of a source from which skills can be copied. */
export interface Available extends AsyncDisposable {
  /** The source, written like a value of `--source`. A repository has its server, also if `owner/repo` named it. */
  readonly flag: string
  /** Commit of the source. If the source has no commits, the digest of all skills in the source. */
  readonly version: string
  readonly skills: readonly Skill[]
  /** Errors in skills that cannot be served. These skills cannot be copied. */
  readonly faults: readonly Diagnostic[]
  read(skill: Skill): Promise<Parameters<typeof replaceFolder>[1]>
  /** Returns the files and folders in the folder of a skill that are not part of the skill, sorted. */
  findLeftOut(skill: Skill): Promise<readonly string[]>
  /** Returns the other folders of the source that have a skill of the same name, sorted. */
  findSeconds(skill: Skill): readonly string[]
  /** Finds invisible characters in a skill. The paths in the diagnostics start with the name of the skill. */
  findHidden(skill: Skill): Promise<readonly Diagnostic[]>
  /**
   * Returns whether the present version of the source descends from `version`. Always true for a source without a
   * history.
   */
  follows(version: string): Promise<boolean>
}

/**
 * Reads the present state of a source. `flag` is written like a value of `--source`. No skill waits for approval,
 * because a person decides which skills to copy. If a configured source has the same origin, each of the two sources
 * stores its own fetched copy.
 * @param options.isNamed whether a person named the source; if false, a local source must be inside the working
 * directory
 * @throws {SkillError} when the source cannot be reached, or its present state cannot be read
 */
export async function openAvailable(
  flag: string,
  config: Config,
  { isNamed }: { readonly isNamed: boolean },
): Promise<Available> {
  const { source, stored } = await createPlace(flag, config, isNamed)
  const skills = await createSkillRuntime({
    sources: [source],
    tuning: { hasher: nodeHasher },
  })
  try {
    await skills.reload()
    const [status] = skills.status()
    if (status?.lastError !== undefined) throw new SkillError('IO_FAILED', `${flag}: ${status.lastError}`)
    const stale = skills.current
      .sources()
      .flatMap(({ diagnostics }) => diagnostics)
      .find(({ code }) => STALE.has(code))
    if (stale !== undefined) throw new SkillError('IO_FAILED', `${flag}: ${stale.message}`)
    return {
      flag: stored,
      version: source.versions?.current() ?? skills.current.digest,
      skills: skills.current.list(),
      faults: skills.current
        .reports()
        .flatMap(({ diagnostics }) => diagnostics.filter(({ severity }) => severity === 'error')),
      read: async skill => await readAll(skill, skills),
      findLeftOut: async skill => (await source.findLeftOut?.(skill)) ?? [],
      findSeconds: skill => findSeconds(skill, skills.current.reports()),
      findHidden: async skill =>
        (await findHiddenIn(skill, skills)).map(each => ({
          ...each,
          path: `${skill.name}/${each.path}`,
        })),
      follows: async version => (await source.versions?.follows(version)) ?? true,
      [Symbol.asyncDispose]: async () => await skills.close(),
    }
  } catch (thrown) {
    await skills.close()
    throw thrown
  }
}

/** A source, and its value of `--source` for the lock file. */
interface Place {
  readonly source: SkillSource
  readonly stored: string
}

async function createPlace(flag: string, config: Config, isNamed: boolean): Promise<Place> {
  try {
    if (isFolder(flag)) {
      assertInside(flag, isNamed)
      return {
        source: directory(flag, { label: 'source', watching: 'off', reading: config.reading }),
        stored: flag,
      }
    }
    const parsed = parseSourceFlag(flag)
    // Fetches the repository even if its history was rewritten, because `stoke update` checks the history of each
    // copied skill itself.
    const source = parsed.git === undefined ? parsed : { ...parsed, update: 'reset' as const }
    const setup: RemoteSetup = {
      access: config.access,
      stateDirectory: join(config.stateDirectory, 'copies'),
      reading: config.reading,
      polling: 'manual',
      trust: 'auto',
    }
    return {
      source: await createRemote({ source, isNamed, label: 'source' }, setup),
      stored: await addServer(flag, parsed, setup),
    }
  } catch (thrown) {
    if (isNamed) throw thrown
    throw new UsageError(`${toMessage(thrown)}; to allow this source of the lock file, use --local`, {
      cause: thrown,
    })
  }
}

/**
 * Returns `owner/repo` as the URL of the repository. Another machine may resolve `owner/repo` to another server, with
 * `--git-base-url`.
 */
async function addServer(
  flag: string,
  { git, ref, path }: ConfigSource,
  setup: RemoteSetup,
): Promise<string> {
  if (git === undefined || git.includes(':')) return flag
  const { origin } = await createRemote({ source: { git }, isNamed: true, label: undefined }, setup)
  return SOURCE_KINDS.git.toFlag({ git: origin, ref, path })
}

function findSeconds({ name, location }: Skill, reports: readonly SkillReport[]): readonly string[] {
  const folders = reports
    .filter(report => report.name === name)
    .flatMap(report => [...(report.status === 'shadowed' ? [report] : []), ...(report.copies ?? [])])
  return folders
    .map(folder => folder.location)
    .filter(each => each !== location)
    .sort()
}

/**
 * Whether the value names a folder. The path of a folder must start with `.` or `/`, because `acme/skills` means a
 * repository.
 */
function isFolder(flag: string): boolean {
  const isPath = /^[./]/.test(flag) || isAbsolute(flag)
  return isPath && statSync(flag, { throwIfNoEntry: false })?.isDirectory() === true
}

// Diagnostic codes which mean that the source still shows an older state.
const STALE: ReadonlySet<string> = new Set(['REF_MISSING', 'PATH_MISSING'])

async function readAll(skill: Skill, skills: SkillRuntime): ReturnType<Available['read']> {
  return await Promise.all(
    skill.files.map(async ({ path, isExecutable }) => ({
      path,
      isExecutable,
      bytes: await skills.readFile(skill, path),
    })),
  )
}
