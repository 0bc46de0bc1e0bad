import { statSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import {
  createSkillRuntime,
  type Diagnostic,
  type Skill,
  SkillError,
  type SkillRuntime,
} from '@skillstoke/core'
import { type FolderFile, findHiddenIn, toMessage } from '@skillstoke/core/internal'
import { directory, nodeHasher } from '@skillstoke/core/node'
import type { SkillSource } from '@skillstoke/core/source'
import type { Config } from '../config/config.ts'
import { createRemote, parseSourceFlag } from '../config/remote-config.ts'
import { assertInside } from '../config/source-kinds.ts'
import { UsageError } from '../exit-code.ts'

/** A source from which skills are copied, with what it holds now. */
export interface Available extends AsyncDisposable {
  /** A commit, or the digest of everything. */
  readonly version: string
  readonly skills: readonly Skill[]
  /** What is wrong with those that cannot be served, and so not copied. */
  readonly faults: readonly Diagnostic[]
  read(skill: Skill): Promise<readonly FolderFile[]>
  /** What a person who reads a skill does not see, each with its path below the name of the skill. */
  findHidden(skill: Skill): Promise<readonly Diagnostic[]>
  /** Whether it comes after an earlier version, as far as the place has a history. */
  follows(version: string): Promise<boolean>
}

/**
 * Asks a source, as `--source` names it, for what it holds now. What is copied out of it is a person's own decision, so nothing of
 * it waits here; and what is followed of the same place, with its approvals, knows nothing of it. One that a person did not name,
 * but a file that came with the project, may not be elsewhere on this machine.
 * @throws {SkillError} when it cannot be reached, or does not show what it has now
 */
export async function openAvailable(
  flag: string,
  config: Config,
  { isNamed }: { readonly isNamed: boolean },
): Promise<Available> {
  const source = await createPlace(flag, config, isNamed)
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
      version: source.versions?.current() ?? skills.current.digest,
      skills: skills.current.list(),
      faults: skills.current
        .reports()
        .flatMap(({ diagnostics }) => diagnostics.filter(({ severity }) => severity === 'error')),
      read: async skill => await readAll(skill, skills),
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

async function createPlace(flag: string, config: Config, isNamed: boolean): Promise<SkillSource> {
  try {
    if (isFolder(flag)) {
      assertInside(flag, isNamed)
      return directory(flag, { label: 'source', watching: 'off', reading: config.reading })
    }
    const parsed = parseSourceFlag(flag)
    // What comes after what is for each copy to ask, by the version in its lock: this machine may never have seen that.
    const source = parsed.git === undefined ? parsed : { ...parsed, update: 'reset' as const }
    return await createRemote(
      { source, isNamed, label: 'source' },
      {
        access: config.access,
        stateDirectory: join(config.stateDirectory, 'copies'),
        reading: config.reading,
        polling: 'manual',
        trust: 'auto',
      },
    )
  } catch (thrown) {
    if (isNamed) throw thrown
    throw new UsageError(`${toMessage(thrown)}; when the lock file is meant to name it, use --local`, {
      cause: thrown,
    })
  }
}

/** A folder of skills, or of one: written as a path, because `acme/skills` is a repository. */
function isFolder(flag: string): boolean {
  const isPath = /^[./]/.test(flag) || isAbsolute(flag)
  return isPath && statSync(flag, { throwIfNoEntry: false })?.isDirectory() === true
}

// What is shown then is older than what the place has.
const STALE: ReadonlySet<string> = new Set(['REF_MISSING', 'PATH_MISSING'])

async function readAll(skill: Skill, skills: SkillRuntime): Promise<readonly FolderFile[]> {
  return await Promise.all(
    skill.files.map(async ({ path, isExecutable }) => ({
      path,
      isExecutable,
      bytes: await skills.readFile(skill, path),
    })),
  )
}
