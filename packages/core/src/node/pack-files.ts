import { randomBytes } from 'node:crypto'
import { constants, openSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive } from './process-group.ts'

const PACK = /^(?:(?<pid>\d+)-)?[0-9a-f]{16}\.pack$/
// A pack that is idle for a day counts as abandoned. The process id in the pack name is no proof of use, because a
// later process may have the same id.
const LONGEST_IDLE_MS = 86_400_000

/** A pack that this process writes to. */
export interface OpenPack {
  readonly name: string
  readonly descriptor: number
  offset: number
}

/** Creates an empty pack whose name contains the id of this process. */
export function createPack(folder: string): OpenPack {
  const name = `${process.pid}-${randomBytes(8).toString('hex')}.pack`
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL
  return { name, descriptor: openSync(join(folder, name), flags, 0o600), offset: 0 }
}

/** Returns the names of the packs in a store. */
export function listPacks(folder: string): readonly string[] {
  return readdirSync(folder).filter(name => PACK.test(name))
}

/** Returns the size of a pack in bytes, or 0 if the pack was removed. */
export function sizeOfPack(folder: string, pack: string): number {
  return statSync(join(folder, pack), { throwIfNoEntry: false })?.size ?? 0
}

/**
 * Returns whether another process may still write to a pack, or has written to the pack after the time `before`. If a
 * process writes nothing for a day, its pack may be removed. At the next write, the process creates a new pack.
 */
export function isPackInUse(folder: string, pack: string, before: number): boolean {
  const stats = statSync(join(folder, pack), { throwIfNoEntry: false })
  if (stats === undefined || stats.mtimeMs >= before) return true
  const pid = Number(PACK.exec(pack)?.groups?.['pid'] ?? 0)
  return pid !== 0 && pid !== process.pid && stats.mtimeMs > Date.now() - LONGEST_IDLE_MS && isAlive(pid)
}
