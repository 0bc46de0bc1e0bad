import { existsSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { findCollisions } from '@skillstoke/author'
import { listCompeting, readTestsOf } from '@skillstoke/author/internal'
import type { Skill, SkillReader, SkillRuntime } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import type { AttentionInfo, FailingTests } from '../client/api-types.ts'
import type { Config } from '../config/config.ts'
import { openMeasured, placeOfMeasured } from '../trial/open-trial.ts'

/** A comparison blocks the process, and takes longer with more skills. */
const MAX_SKILLS = 1_000
/** Conversations hear of a change first. */
const PAUSE_MS = 500
const NOTHING: AttentionInfo = { collisions: [], failing: [] }

interface AttentionOptions {
  readonly skills: SkillRuntime
  /** The skills that new conversations see. */
  readonly reader: SkillReader
  readonly config: Pick<Config, 'stateDirectory'>
  readonly onChange: () => void
}

/** What an author should look at besides findings: skills that compete for the same messages, and tests that a model failed. */
export class Attention {
  readonly #options: AttentionOptions
  #found = NOTHING
  /** Set until a look has ended. */
  #timer: ReturnType<typeof setTimeout> | undefined
  #isDue = false
  #isClosed = false

  constructor(options: AttentionOptions) {
    this.#options = options
  }

  get found(): AttentionInfo {
    return this.#found
  }

  /** Looks again after a pause. One look at a time. */
  look(): void {
    this.#isDue = true
    this.#timer ??= setTimeout(() => {
      this.#isDue = false
      this.#look()
        .catch((thrown: unknown) => {
          // A skill that changes while its tests are read is read again after its update.
          process.emitWarning(`skillstoke: the skills cannot be compared: ${toMessage(thrown)}`)
        })
        .finally(() => {
          this.#timer = undefined
          if (this.#isDue && !this.#isClosed) this.look()
        })
    }, PAUSE_MS).unref()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  async #look(): Promise<void> {
    const competing = listCompeting(this.#options.reader)
    const isMany = competing.length > MAX_SKILLS
    const found = {
      collisions: isMany ? [] : await this.#findCollisions(competing),
      failing: await this.#listFailing(competing),
    }
    if (this.#isClosed || isDeepStrictEqual(found, this.#found)) return
    this.#found = found
    this.#options.onChange()
  }

  async #findCollisions(competing: readonly Skill[]): Promise<AttentionInfo['collisions']> {
    const tests = await Promise.all(competing.map(skill => readTestsOf(skill, this.#options.skills)))
    return findCollisions(competing, { tests }).filter(
      ({ kind, settledBy }) => kind !== 'similar' && settledBy === undefined,
    )
  }

  async #listFailing(skills: readonly Skill[]): Promise<readonly FailingTests[]> {
    const { config } = this.#options
    if (!existsSync(placeOfMeasured(config))) return []
    using store = await openMeasured(config)
    return skills.flatMap(({ name, revision }) => {
      const score = store.listScores(name).find(each => each.revision === revision)
      if (score === undefined || score.passed === score.total) return []
      const { passed, total, model, at } = score
      return { skill: name, passed, total, model, at }
    })
  }
}
