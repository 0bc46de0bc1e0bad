import { join } from 'node:path'
import {
  createSkillRuntime,
  type Diagnostic,
  type FolderFile,
  MemorySkillStore,
  type Skill,
  SkillError,
  type SkillRuntime,
} from '@skillstoke/core'
import { nodeHasher } from '@skillstoke/core/node'
import type { Config } from '../config/config.ts'
import { createRemote, parseSourceFlag } from '../config/remote-config.ts'

/** A source from which skills are copied, with what it holds now. */
export interface Available extends AsyncDisposable {
  /** A commit, or the digest of everything. */
  readonly version: string
  readonly skills: readonly Skill[]
  /** What is wrong with those that cannot be served, and so not copied. */
  readonly faults: readonly Diagnostic[]
  read(skill: Skill): Promise<readonly FolderFile[]>
}

/**
 * Asks a source, as `--source` names it, for what it holds now. What is copied out of it is a person's own decision, so nothing of
 * it waits here; and what is followed of the same place, with its approvals, knows nothing of it.
 * @throws {SkillError} when it cannot be reached, or does not show what it has now
 */
export async function openAvailable(
  flag: string,
  config: Config,
  { takesRewritten }: { readonly takesRewritten: boolean },
): Promise<Available> {
  const parsed = parseSourceFlag(flag)
  const source = await createRemote(
    {
      source: takesRewritten && parsed.git !== undefined ? { ...parsed, update: 'reset' } : parsed,
      isNamed: true,
      label: 'source',
    },
    {
      access: config.access,
      stateDirectory: join(config.stateDirectory, 'copies'),
      reading: config.reading,
      polling: 'manual',
      trust: 'auto',
    },
  )
  const skills = await createSkillRuntime({
    sources: [source],
    store: new MemorySkillStore(),
    hasher: nodeHasher,
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
      version: source.version?.() ?? skills.current.digest,
      skills: skills.current.list(),
      faults: skills.current
        .reports()
        .flatMap(({ diagnostics }) => diagnostics.filter(({ severity }) => severity === 'error')),
      read: async skill => await readAll(skill, skills),
      [Symbol.asyncDispose]: async () => await skills.close(),
    }
  } catch (thrown) {
    await skills.close()
    throw thrown
  }
}

// What is shown then is older than what the place has.
const STALE: ReadonlySet<string> = new Set(['HISTORY_REWRITTEN', 'REF_MISSING', 'PATH_MISSING'])

async function readAll(skill: Skill, skills: SkillRuntime): Promise<readonly FolderFile[]> {
  return await Promise.all(
    skill.files.map(async ({ path, isExecutable }) => ({
      path,
      isExecutable,
      bytes: await skills.readFile(skill, path),
    })),
  )
}
