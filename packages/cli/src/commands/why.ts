import { defined, explainSkill } from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
import { toAnswering } from '../skills/answering.ts'
import { askOrScan, describeSource } from '../skills/ask-or-scan.ts'
import { toAsked } from '../skills/skill-target.ts'
import { countTokens } from '../skills/tokens.ts'
import type { Answer } from '../terminal/answer.ts'
import { EXIT_FINDINGS, EXIT_OK, UsageError } from '../terminal/exit-code.ts'
import { formatSteps } from '../terminal/output.ts'

/**
 * Implements `stoke why`: shows which step keeps a skill from reaching conversations. If the name belongs to a folder
 * or file that is not a skill, shows why it is not a skill.
 */
export async function why(
  config: Config,
  { session }: { readonly session?: string },
  asked: string,
): Promise<Answer> {
  const name = toAsked(asked)
  const { answer, from } = await askOrScan(
    config,
    {
      ask: async client => await client.why(name, defined({ session })),
      scan: async skills => {
        if (session !== undefined)
          throw new UsageError(
            '--session needs a running dev with these roots, and there is none; start one with "stoke dev"',
          )
        return await explainSkill(name, undefined, toAnswering(skills, config))
      },
    },
    { reportsUnreadable: true, runsScripts: true, runtime: { catalog: { countTokens, ...config.catalog } } },
  )
  return {
    json: { ...answer, from },
    text: () => [formatSteps(answer, config), describeSource(from, config)],
    exit: answer.steps.every(step => step.ok) ? EXIT_OK : EXIT_FINDINGS,
  }
}
