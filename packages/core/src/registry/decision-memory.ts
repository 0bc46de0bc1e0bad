import type { Hasher, Logger } from '../host.ts'
import { type Digest, digestOf } from '../skill/digest.ts'
import type { SkillStore } from '../store/skill-store.ts'
import type { FolderPlace, StandingDecision } from './admission.ts'

/**
 * Notes in the skill store which folders have standing decisions. A `DecisionStore` keeps the decisions themselves. If
 * the decisions are lost, a note still shows that a folder had decisions. The registry then serves no new revision of
 * the folder.
 */
export class DecisionMemory {
  readonly #store: SkillStore
  readonly #logger: Logger
  readonly #decided: Digest
  readonly #disabled: Digest
  /** For each source that was looked up: true if the source has notes. */
  readonly #noted = new Map<string, boolean>()
  readonly #reported = new Set<string>()

  constructor(store: SkillStore, hasher: Hasher, logger: Logger) {
    this.#store = store
    this.#logger = logger
    const mark = (word: string): Digest => digestOf(new TextEncoder().encode(word), hasher)
    this.#decided = mark('decided')
    this.#disabled = mark('disabled')
  }

  /**
   * Checks whether the store has notes about a source; another process may have written them. Call `look` before a
   * batch of `recall` calls.
   */
  look(origin: string): void {
    if (this.#noted.get(origin) !== true)
      this.#noted.set(origin, this.#store.getRef(sourceNote(origin)) !== undefined)
  }

  /** Notes the standing decision about a folder. */
  note({ origin, location }: FolderPlace, decision: StandingDecision): void {
    const name = folderNote(origin, location)
    const value =
      decision.disabled === undefined ? (decision.pinned?.revision ?? this.#decided) : this.#disabled
    if (this.#store.getRef(name) === value) return
    this.#store.setRef(name, value)
    this.#store.setRef(sourceNote(origin), this.#decided)
    this.#noted.set(origin, true)
  }

  /** After a folder was moved, moves the note about its lost decisions to the new path. */
  move(origin: string, from: string, to: string): void {
    const value = this.#store.getRef(folderNote(origin, from))
    if (value !== undefined) this.#store.setRef(folderNote(origin, to), value)
  }

  /** Removes the note about a folder without a standing decision. */
  forget({ origin, location }: FolderPlace): void {
    if (this.#noted.get(origin) === true) this.#store.setRef(folderNote(origin, location), undefined)
  }

  /** Returns the note about the lost decision of a folder, or `undefined` if the folder never had a decision. */
  recall({ origin, location }: FolderPlace): StandingDecision | undefined {
    if (this.#noted.get(origin) !== true) return undefined
    const value = this.#store.getRef(folderNote(origin, location))
    if (value === undefined) return undefined
    if (!this.#reported.has(folderNote(origin, location)))
      this.#logger.error('the decisions about this folder are lost; its last good revision stays served', {
        source: origin,
        location,
      })
    this.#reported.add(folderNote(origin, location))
    if (value === this.#decided) return LOST
    if (value === this.#disabled) return { ...LOST, disabled: `it was disabled, and ${LOSS}` }
    return { ...LOST, pinned: { revision: value, reason: `it was pinned, and ${LOSS}` } }
  }
}

const LOSS = 'the decisions about it are lost'
const LOST: StandingDecision = { isLost: true }

function sourceNote(origin: string): string {
  return JSON.stringify(['decided', origin])
}

function folderNote(origin: string, location: string): string {
  return JSON.stringify(['decided', origin, location])
}
