import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openWriteLock } from '@skillstoke/core/node'
import type { Config } from '../config/config.ts'
import { checkNamedRoots } from '../config/named-roots.ts'
import { findLinkTarget } from '../config/real-path.ts'
import { describeChanged, inspect } from '../lock/installed.ts'
import { projectFolder, readForeignNames, readLock, writeLock } from '../lock/lock-file.ts'
import { putAside } from '../lock/trash.ts'
import type { Answer } from '../terminal/answer.ts'
import { UsageError } from '../terminal/exit-code.ts'
import { toTerminalLine } from '../terminal/output.ts'

/**
 * Implements `stoke remove`: moves the folders of copied skills to `.trash` in the same root, and removes the skills
 * from the lock file.
 */
export async function remove(
  config: Config,
  flags: { readonly force?: boolean },
  names: readonly string[],
): Promise<Answer> {
  checkNamedRoots(config)
  const project = projectFolder(config)
  await using lock = await openWriteLock(config.stateDirectory)
  const removed = await lock.run(async () => {
    const locked = readLock(config)
    for (const name of names) {
      const entry = locked[name]
      if (entry === undefined) {
        refuseLink(name, config)
        const by = readForeignNames(config).has(name) ? ', but installed by the "skills" command line' : ''
        throw new UsageError(
          `nothing was removed: ${JSON.stringify(name)} was not added with "stoke add"${by}; to stop serving a skill, use "stoke disable"`,
        )
      }
      const state = await inspect(project, entry)
      if (state.kind === 'modified' && !flags.force)
        throw new UsageError(
          `${name} has local changes (${describeChanged(state)}); use --force to move it to .trash`,
        )
    }
    const rest = { ...locked }
    const done: { name: string; keptIn: string | null }[] = []
    for (const name of names) {
      const folder = join(project, locked[name]?.path ?? '')
      const keptIn = existsSync(folder) ? await putAside(folder) : null
      delete rest[name]
      await writeLock(config, rest)
      done.push({ name, keptIn })
    }
    return done
  })
  return {
    json: removed,
    text: () =>
      removed.map(
        ({ name, keptIn }) =>
          `removed ${toTerminalLine(name)}${keptIn === null ? ', its folder was missing' : `, kept in ${keptIn}`}`,
      ),
  }
}

/** Refuses a link, because its target is not a copy and belongs to the user. */
function refuseLink(name: string, { roots }: Config): void {
  for (const root of roots) {
    const path = join(root.path, name)
    const target = findLinkTarget(path)
    if (target === undefined) continue
    throw new UsageError(
      `nothing was removed: ${JSON.stringify(name)} is a link to ${target}, not a copy; to remove the link, remove ${path}`,
    )
  }
}
