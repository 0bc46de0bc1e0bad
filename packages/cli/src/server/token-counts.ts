import { setImmediate } from 'node:timers/promises'
import type { Skill, SkillRuntime, TokenCounter } from '@skillstoke/core'
import type { SkillTokens } from '../client/api-types.ts'

/** Maximum time that counting may block the event loop. */
const SLICE_MS = 5

export interface TokenCountsOptions {
  readonly skills: SkillRuntime
  readonly countTokens: TokenCounter
  /** Called when the tokens of all requested skills have been counted. */
  readonly onCounted: () => void
}

/** Counts the tokens of skills in the background, and counts each revision only once. */
export class TokenCounts {
  readonly #options: TokenCountsOptions
  /** Counts by skill. Null if the revision can no longer be read. */
  readonly #counts = new WeakMap<Skill, SkillTokens | null>()
  readonly #wanted = new Set<Skill>()
  #running: Promise<void> | undefined
  /**
   * Whether skills are being counted. Becomes false in the same tick in which the queue becomes empty, while the
   * promise `#running` settles later.
   */
  #isRunning = false
  #isClosed = false

  constructor(options: TokenCountsOptions) {
    this.#options = options
  }

  /**
   * Returns the token counts of a skill. Returns null while the tokens are being counted, and for a skill that cannot
   * be read or was not retrieved yet.
   */
  get(skill: Skill): SkillTokens | null {
    const known = this.#counts.get(skill)
    if (known !== undefined) return known
    // Counting must not retrieve the files of a skill that was not loaded yet.
    if (!this.#isClosed && this.#options.skills.isStored(skill)) {
      this.#wanted.add(skill)
      if (!this.#isRunning) this.#running = this.#run()
    }
    return null
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#wanted.clear()
    await this.#running
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    try {
      await setImmediate()
      let sliceEnd = performance.now() + SLICE_MS
      for (const skill of this.#wanted) {
        this.#wanted.delete(skill)
        this.#counts.set(skill, await this.#count(skill))
        if (performance.now() < sliceEnd) continue
        await setImmediate()
        sliceEnd = performance.now() + SLICE_MS
      }
    } finally {
      this.#isRunning = false
    }
    if (!this.#isClosed) this.#options.onCounted()
  }

  /**
   * Counts the tokens of a skill. Returns null instead of throwing if the skill cannot be read, because a missing count
   * does no harm.
   */
  async #count(skill: Skill): Promise<SkillTokens | null> {
    const { skills, countTokens } = this.#options
    try {
      const body = await skills.readBody(skill)
      return { listed: countTokens(`${skill.name} ${skill.description}`), body: countTokens(body) }
    } catch {
      return null
    }
  }
}
