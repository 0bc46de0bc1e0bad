import type { SkillTests } from '@skillstoke/author'
import {
  estimateTrials,
  type JobOptions,
  runTriggerTrials,
  type TriggerTrials,
} from '@skillstoke/author/trials'
import type { SkillRuntime } from '@skillstoke/core'
import { Turns } from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
import { countTokens } from '../skills/tokens.ts'
import { createTrialAgent, nameModel, openMeasured, openTrialSkills } from './open-trial.ts'

/** Most model calls in one run. */
const MAX_CALLS = 200

/** Sends the messages of skills to the model of the configuration, one skill after the other. Keeps each answer. */
export class ModelTests {
  readonly #config: Config
  readonly #onTested: () => void
  readonly #turns = new Turns(1)

  /** @param onTested called after each run */
  constructor(config: Config, onTested: () => void) {
    this.#config = config
    this.#onTested = onTested
  }

  async run(tests: SkillTests, options: Pick<JobOptions, 'signal' | 'onProgress'>): Promise<TriggerTrials> {
    return await this.#turns.run(async () => {
      // The loads of a trial are no use of the skills.
      await using skills = await openTrialSkills(this.#config)
      using store = await openMeasured(this.#config)
      const asked = this.#ask(skills)
      const trials = await runTriggerTrials(tests, asked, { ...options, store, maxCalls: MAX_CALLS })
      const { passed, total, stopped } = trials
      const { name: skill, revision } = skills.current.get(tests.skill)
      const score = { skill, revision, model: asked.model, passed, total, at: new Date().toISOString() }
      if (stopped === undefined && total > 0) store.keepScore(score)
      this.#onTested()
      return trials
    })
  }

  /** Returns what earlier runs with the present catalog answered, and how many calls a run would make. */
  async known(
    tests: SkillTests,
    skills: SkillRuntime,
  ): Promise<{ readonly trials: TriggerTrials; readonly calls: number }> {
    using store = await openMeasured(this.#config)
    const asked = this.#ask(skills)
    const { signal } = new AbortController()
    const trials = await runTriggerTrials(tests, asked, { store, signal, maxCalls: 0 })
    return { trials, calls: estimateTrials(tests, asked, { store, countTokens }).calls }
  }

  #ask(skills: SkillRuntime): Parameters<typeof runTriggerTrials>[1] {
    return { agent: createTrialAgent(skills, this.#config), model: nameModel(this.#config) }
  }
}
