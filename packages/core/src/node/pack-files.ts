import { randomBytes } from 'node:crypto'
import { constants, openSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive } from './process-group.ts'

const PACK = /^(?:(?<pid>\d+)-)?[0-9a-f]{16}\.pack$/
// Of the process that made a pack only its number is known, which another one may have by now.
const LONGEST_IDLE_MS = 86_400_000

/** A pack that is being written. */
export interface OpenPack {
  readonly name: string
  readonly descriptor: number
  offset: number
}

/** Makes an empty pack, named after this process. */
export function createPack(folder: string): OpenPack {
  const name = `${process.pid}-${randomBytes(8).toString('hex')}.pack`
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL
  return { name, descriptor: openSync(join(folder, name), flags, 0o600), offset: 0 }
}

/** Names the packs of a store. */
export function listPacks(folder: string): readonly string[] {
  return readdirSync(folder).filter(name => PACK.test(name))
}

/** 0 for a pack that is gone. */
export function sizeOfPack(folder: string, pack: string): number {
  return statSync(join(folder, pack), { throwIfNoEntry: false })?.size ?? 0
}

/**
 * Whether another process may still write to a pack, or somebody wrote to it after `before`. A process that goes on after a
 * day notices that its pack is gone, and begins a new one.
 */
export function isPackInUse(folder: string, pack: string, before: number): boolean {
  const stats = statSync(join(folder, pack), { throwIfNoEntry: false })
  if (stats === undefined || stats.mtimeMs >= before) return true
  const pid = Number(PACK.exec(pack)?.groups?.['pid'] ?? 0)
  return pid !== 0 && pid !== process.pid && stats.mtimeMs > Date.now() - LONGEST_IDLE_MS && isAlive(pid)
}
