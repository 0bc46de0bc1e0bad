import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { SkillError } from '@skillstoke/core'
import { NodeFileSystem, openWriteLock } from '@skillstoke/core/node'
import type { Config } from '../config/config.ts'

type State = Pick<Config, 'stateDirectory'>

/** Moves the folder of a skill to `.trash` in the same root, which no source reads. Returns the new path. */
export async function moveToTrash(folder: string, config: State): Promise<string> {
  await using lock = await openWriteLock(config.stateDirectory)
  return await lock.run(() => putAside(folder))
}

/** Does the same within the write lock. */
export async function putAside(folder: string): Promise<string> {
  const root = dirname(folder)
  const at = new Date().toISOString().replaceAll(/[:.]/g, '-')
  const trash = join(root, '.trash', `${basename(folder)}-${at}`)
  await new NodeFileSystem().move(folder, trash, { inside: root })
  return trash
}

/** Moves a folder back from the trash. @throws {SkillError} CHANGED_SINCE_READ when another folder is at the place now */
export async function moveBack(trash: string, folder: string, config: State): Promise<void> {
  await using lock = await openWriteLock(config.stateDirectory)
  await lock.run(async () => {
    if (existsSync(folder))
      throw new SkillError('CHANGED_SINCE_READ', `${folder} exists again; the removed folder is ${trash}`)
    await new NodeFileSystem().move(trash, folder, { inside: dirname(folder) })
  })
}
