import { checkWholeNumber } from '../errors.ts'
import { checkOptions, type KnownOptions } from '../options.ts'
import type { FolderPlace } from '../registry/admission.ts'
import type { Digest } from '../skill/digest.ts'
import { type DecisionKind, keyOf } from './decisions.ts'

/** Whose text a revision is, as far as that is known. */
export interface RevisionAuthor {
  /** `commit`: the author of a commit. `source`: whoever is behind a remote place that names nobody. */
  readonly kind: 'person' | 'agent' | 'commit' | 'source'
  /** For people. */
  readonly name?: string
}

/** Why a revision came up. */
export type RevisionCause = 'found' | 'edit' | 'fetch' | 'rollback' | 'removal' | DecisionKind

/** One step in the history of a folder. */
export interface RevisionRecord extends FolderPlace {
  /** Label of the source at that time. */
  readonly source: string
  readonly name: string
  /** Absent when the skill went away. */
  readonly revision?: Digest
  /** `live`: served from then on. `held`: seen, and not served. `removed`: no longer served. `decided`: nothing changed by it at once. */
  readonly event: 'live' | 'held' | 'removed' | 'decided'
  readonly cause: RevisionCause
  readonly author: RevisionAuthor
  /** Of a commit, or of a decision. */
  readonly note?: string
  /** Wall time in milliseconds since the epoch. */
  readonly at: number
}

/** Where the history of skills is kept. */
export interface RevisionLog {
  /** What was wrong with the history when it was opened or read, for people. */
  readonly damage?: string | undefined
  /** What was recorded last of a folder, at once from memory. */
  last(place: FolderPlace): RevisionRecord | undefined
  /** What was recorded last of every folder, in any order. */
  lasts(): readonly RevisionRecord[]
  /** Resolves when the records outlive the process, where the log does: to those that it keeps no longer for them. */
  append(records: readonly RevisionRecord[]): Promise<readonly RevisionRecord[]>
  /** Newest first. */
  list(place: FolderPlace): Promise<readonly RevisionRecord[]>
  close(): Promise<void>
}

/** How many steps of one folder are kept. */
export const DEFAULT_HISTORY_LENGTH = 100

export interface MemoryRevisionLogOptions {
  /** Steps of one folder that are kept. @default DEFAULT_HISTORY_LENGTH */
  readonly maxRecords?: number
}

const KNOWN_LOG: KnownOptions<MemoryRevisionLogOptions> = { maxRecords: true }

/** A history that ends with the process. */
export class MemoryRevisionLog implements RevisionLog {
  readonly #records = new Map<string, readonly RevisionRecord[]>()
  readonly #maxRecords: number

  constructor(options: MemoryRevisionLogOptions = {}) {
    checkOptions('MemoryRevisionLog', options, KNOWN_LOG)
    checkWholeNumber('maxRecords', options.maxRecords, 1)
    this.#maxRecords = options.maxRecords ?? DEFAULT_HISTORY_LENGTH
  }

  last(place: FolderPlace): RevisionRecord | undefined {
    return this.#records.get(keyOf(place))?.[0]
  }

  lasts(): readonly RevisionRecord[] {
    return [...this.#records.values()].flatMap(([last]) => last ?? [])
  }

  async append(records: readonly RevisionRecord[]): Promise<readonly RevisionRecord[]> {
    const dropped: RevisionRecord[] = []
    for (const record of records) {
      const key = keyOf(record)
      const all = [record, ...(this.#records.get(key) ?? [])]
      dropped.push(...all.splice(this.#maxRecords))
      this.#records.set(key, all)
    }
    return dropped
  }

  async list(place: FolderPlace): Promise<readonly RevisionRecord[]> {
    return this.#records.get(keyOf(place)) ?? []
  }

  async close(): Promise<void> {
    this.#records.clear()
  }
}
