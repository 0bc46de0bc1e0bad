import {
  createSkillRuntime,
  type FolderFile,
  type Skill,
  SkillError,
  type SkillRuntime,
} from '@skillstoke/core'
import { nodeHasher, openPackStore } from '@skillstoke/core/node'
import type { Config } from '../config/config.ts'
import { createRemote, parseSourceFlag } from '../config/remote-config.ts'

/** A source from which skills are copied, with what it holds now. */
export interface Available extends AsyncDisposable {
  /** A commit, or the digest of everything. */
  readonly version: string
  readonly skills: readonly Skill[]
  read(skill: Skill): Promise<readonly FolderFile[]>
}

/**
 * Asks a source, as `--source` names it, for what it holds now. What is copied out of it is a person's own decision, so nothing of
 * it waits here. @throws {SkillError} when it cannot be reached
 */
export async function openAvailable(flag: string, config: Config): Promise<Available> {
  const remote = { source: parseSourceFlag(flag), isNamed: true, label: 'source' }
  const { access, stateDirectory, reading } = config
  const source = await createRemote(remote, {
    access,
    stateDirectory,
    reading,
    polling: 'manual',
    trust: 'auto',
  })
  const skills = await createSkillRuntime({
    sources: [source],
    store: await openPackStore(stateDirectory),
    hasher: nodeHasher,
  })
  try {
    await skills.reload()
    const [status] = skills.status()
    if (status?.lastError !== undefined) throw new SkillError('IO_FAILED', `${flag}: ${status.lastError}`)
    return {
      version: source.version?.() ?? skills.current.digest,
      skills: skills.current.list(),
      read: async skill => await readAll(skill, skills),
      [Symbol.asyncDispose]: async () => await skills.close(),
    }
  } catch (thrown) {
    await skills.close()
    throw thrown
  }
}

async function readAll(skill: Skill, skills: SkillRuntime): Promise<readonly FolderFile[]> {
  return await Promise.all(
    skill.files.map(async ({ path, isExecutable }) => ({
      path,
      isExecutable,
      bytes: await skills.readFile(skill, path),
    })),
  )
}
