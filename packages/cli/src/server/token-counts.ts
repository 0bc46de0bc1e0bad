import { setImmediate } from 'node:timers/promises'
import type { Skill, SkillRuntime, TokenCounter } from '@skillstoke/core'
import type { SkillTokens } from '../client/api-types.ts'

/** How long counting may hold up everything else. */
const SLICE_MS = 5

export interface TokenCountsOptions {
  readonly skills: SkillRuntime
  readonly countTokens: TokenCounter
  /** Told when something that was asked for has been counted; once for many. */
  readonly onCounted: () => void
}

/** Counts the tokens of skills in the background, each revision once. */
export class TokenCounts {
  readonly #options: TokenCountsOptions
  /** Null for a revision that is gone: nobody can count it any more. */
  readonly #counts = new WeakMap<Skill, SkillTokens | null>()
  readonly #wanted = new Set<Skill>()
  #running: Promise<void> | undefined
  /** Ends in the same step in which nothing was left to count. */
  #isRunning = false
  #isClosed = false

  constructor(options: TokenCountsOptions) {
    this.#options = options
  }

  /** The tokens of a skill; null while they are being counted, and when they cannot be. */
  get(skill: Skill): SkillTokens | null {
    const known = this.#counts.get(skill)
    if (known !== undefined) return known
    if (!this.#isClosed) {
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

  /** Null for what cannot be counted: a number that is missing harms nobody. */
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
