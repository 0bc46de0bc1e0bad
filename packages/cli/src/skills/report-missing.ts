import { SkillError, type SkillExplanation } from '@skillstoke/core'
import { ApiError } from '../client/api-error.ts'
import type { Config } from '../config/config.ts'
import type { Answer } from '../terminal/answer.ts'
import { EXIT_FINDINGS } from '../terminal/exit-code.ts'
import { toTerminalLine } from '../terminal/output.ts'
import { askOrScan } from './ask-or-scan.ts'
import { toAsked } from './skill-target.ts'

/** Returns a verb that reports a name that no skill has as `why` does, and does not fail. */
export function reportMissing<Flags, Rest extends readonly unknown[]>(
  verb: (config: Config, flags: Flags, name: string, ...rest: Rest) => Promise<Answer>,
): typeof verb {
  return async (config, flags, name, ...rest) => {
    try {
      return await verb(config, flags, name, ...rest)
    } catch (thrown) {
      const isApi = thrown instanceof ApiError && thrown.code === 'NOT_FOUND'
      if (!isApi && !SkillError.isInstance(thrown, 'SKILL_NOT_FOUND')) throw thrown
      const { answer } = await askOrScan<SkillExplanation>(config, {
        ask: async client => await client.why(toAsked(name)),
        scan: async skills => await skills.why(toAsked(name)),
      })
      // If the skill exists, something else was not found, for example a revision.
      if (answer.steps[0]?.ok === true) throw thrown
      return toMissing(name, answer)
    }
  }
}

/** Reports a name that no skill has. */
export function toMissing(asked: string, explanation: SkillExplanation): Answer {
  return {
    json: explanation,
    text: () => {
      const reason = toTerminalLine(explanation.steps[0]?.detail ?? '')
      process.stderr.write(`there is no skill ${JSON.stringify(asked)}: ${reason}\n`)
      return []
    },
    exit: EXIT_FINDINGS,
  }
}
