import { setImmediate } from 'node:timers/promises'
import type { CatalogFormatName, Skill, SkillRuntime, TokenCounter } from '@skillstoke/core'
import { countEntry } from '@skillstoke/core/internal'
import type { SkillTokens } from '../client/api-types.ts'

/** Maximum time that counting may block the event loop. */
const SLICE_MS = 5

export interface TokenCountsOptions {
  readonly skills: SkillRuntime
  readonly countTokens: TokenCounter
  /** Format of the catalog. */
  readonly format: CatalogFormatName
  /** Called when the tokens of all requested skills have been counted. */
  readonly onCounted: () => void
}

/** The token counts of skills. Counts in the background, and counts each revision only once. */
export interface TokenCounts {
  /**
   * Returns the token counts of a skill. Returns null while the tokens are being counted, and for a skill that cannot
   * be read or was not retrieved yet.
   */
  get(skill: Skill): SkillTokens | null
  close(): Promise<void>
}

export function createTokenCounts(options: TokenCountsOptions): TokenCounts {
  const { skills, countTokens, format, onCounted } = options
  /** Counts by skill. Null if the revision can no longer be read. */
  const counts = new WeakMap<Skill, SkillTokens | null>()
  const wanted = new Set<Skill>()
  let running: Promise<void> | undefined
  // Becomes false in the same tick in which the queue becomes empty, while the promise `running` settles later.
  let isRunning = false
  let isClosed = false

  /** Returns null instead of throwing if the skill cannot be read, because a missing count does no harm. */
  async function count(skill: Skill): Promise<SkillTokens | null> {
    try {
      const body = countTokens(await skills.readBody(skill))
      return { listed: countEntry(skill, format, countTokens), body, isEstimate: false }
    } catch {
      return null
    }
  }

  async function run(): Promise<void> {
    isRunning = true
    try {
      await setImmediate()
      let sliceEnd = performance.now() + SLICE_MS
      for (const skill of wanted) {
        wanted.delete(skill)
        counts.set(skill, await count(skill))
        if (performance.now() < sliceEnd) continue
        await setImmediate()
        sliceEnd = performance.now() + SLICE_MS
      }
    } finally {
      isRunning = false
    }
    if (!isClosed) onCounted()
  }

  return {
    get: skill => {
      const known = counts.get(skill)
      if (known !== undefined) return known
      // Counting must not retrieve the files of a skill that was not loaded yet.
      if (!isClosed && skills.isStored(skill)) {
        wanted.add(skill)
        if (!isRunning) running = run()
      }
      return null
    },
    close: async () => {
      isClosed = true
      wanted.clear()
      await running
    },
  }
}
