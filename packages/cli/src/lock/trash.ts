import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { SkillError } from '@skillstoke/core'
import { NodeFileSystem, openWriteLock } from '@skillstoke/core/node'
import type { Config } from '../config/config.ts'

/** A folder and the place in the trash of its root. */
interface TrashedFolder {
  readonly folder: string
  readonly trash: string
}

/** Moves the folder of a skill to `.trash` in the same root, which no source reads. Returns the new path. */
export async function moveToTrash(folder: string, config: Pick<Config, 'stateDirectory'>): Promise<string> {
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

/** @throws {SkillError} CHANGED_SINCE_READ when another folder is at the place now */
export async function moveBack(
  { folder, trash }: TrashedFolder,
  config: Pick<Config, 'stateDirectory'>,
): Promise<void> {
  await using lock = await openWriteLock(config.stateDirectory)
  await lock.run(async () => {
    if (existsSync(folder))
      throw new SkillError('CHANGED_SINCE_READ', `${folder} exists again; the removed folder is ${trash}`)
    await new NodeFileSystem().move(trash, folder, { inside: dirname(folder) })
  })
}
