import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import type { Digest } from '../index.ts'
import { digestOf } from '../internal-entry.ts'
import { nodeHasher } from './node-hasher.ts'
import type { PackPosition } from './pack-index.ts'

/** A blob whose bytes do not match its digest. */
export interface DamagedBlob extends PackPosition {
  readonly digest: Digest
}

/** After this number of bytes, the event loop gets a turn. */
const SLICE_BYTES = 4_194_304

/**
 * Reads every file of a pack store and compares it with its digest. Skips files in git mirrors, because git verifies
 * these files.
 */
export async function findDamage(folder: string, index: DatabaseSync): Promise<readonly DamagedBlob[]> {
  const rows = index
    .prepare(
      "SELECT digest, pack, offset, length FROM blob WHERE pack NOT LIKE 'git:%' ORDER BY pack, offset",
    )
    .all() as unknown as DamagedBlob[]
  const packs = new Packs(folder)
  const damaged: DamagedBlob[] = []
  let read = 0
  try {
    for (const row of rows) {
      const bytes = packs.read(row)
      if (bytes === undefined || digestOf(bytes, nodeHasher) !== row.digest) damaged.push(row)
      read += row.length
      if (read < SLICE_BYTES) continue
      read = 0
      await setImmediate()
    }
  } finally {
    packs.close()
  }
  return damaged
}

/** Keeps the current pack open, because the bytes of the next row are usually in the same pack. */
class Packs {
  readonly #folder: string
  #open: { readonly pack: string; readonly descriptor: number | undefined } | undefined

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Returns the bytes, or `undefined` if the pack is missing or too short. */
  read({ pack, offset, length }: PackPosition): Uint8Array | undefined {
    if (this.#open?.pack !== pack) {
      this.close()
      this.#open = { pack, descriptor: this.#tryOpen(pack) }
    }
    const { descriptor } = this.#open
    if (descriptor === undefined) return undefined
    const bytes = new Uint8Array(length)
    return length === 0 || readSync(descriptor, bytes, 0, length, offset) === length ? bytes : undefined
  }

  close(): void {
    if (this.#open?.descriptor !== undefined) closeSync(this.#open.descriptor)
    this.#open = undefined
  }

  #tryOpen(pack: string): number | undefined {
    try {
      return openSync(join(this.#folder, pack), 'r')
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw thrown
    }
  }
}
