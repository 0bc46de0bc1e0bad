import type { SkillTests } from '@skillstoke/author'
import { type JobOptions, runTriggerTrials, type TriggerTrials } from '@skillstoke/author/trials'
import type { SkillRuntime } from '@skillstoke/core'
import { Turns } from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
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
      const trials = await this.#ask(tests, skills, { ...options, store, maxCalls: MAX_CALLS })
      const { passed, total, stopped } = trials
      const { name: skill, revision } = skills.current.get(tests.skill)
      const score = {
        skill,
        revision,
        model: nameModel(this.#config),
        passed,
        total,
        at: new Date().toISOString(),
      }
      if (stopped === undefined && total > 0) store.keepScore(score)
      this.#onTested()
      return trials
    })
  }

  /** Returns what earlier runs with the present catalog answered. */
  async known(tests: SkillTests, skills: SkillRuntime): Promise<TriggerTrials> {
    using store = await openMeasured(this.#config)
    return await this.#ask(tests, skills, { store, signal: new AbortController().signal, maxCalls: 0 })
  }

  async #ask(tests: SkillTests, skills: SkillRuntime, options: JobOptions): Promise<TriggerTrials> {
    const asked = { agent: createTrialAgent(skills, this.#config), model: nameModel(this.#config) }
    return await runTriggerTrials(tests, asked, options)
  }
}
