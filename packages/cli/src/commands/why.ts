import type { Config } from '../config/config.ts'
import { EXIT_FINDINGS, EXIT_OK, UsageError } from '../exit-code.ts'
import { openSkills } from '../open-skills.ts'
import { createPaint, formatTable, printJson, printLine, toAdvice, toTerminalLine } from '../output.ts'
import { askOrScan, printSource } from '../running-dev.ts'
import { toAsked } from '../skill-target.ts'
import { countTokens } from '../tokens.ts'

export interface WhyOptions {
  readonly json: boolean
  /** Id of a conversation in the running `stoke dev`. */
  readonly session?: string
}

/**
 * Implements `stoke why`: shows which step keeps a skill from reaching conversations. If the name belongs to a folder
 * or file that is not a skill, shows why it is not a skill.
 */
export async function why(asked: string, config: Config, options: WhyOptions): Promise<number> {
  const name = toAsked(asked)
  const { answer, from } = await askOrScan(
    config,
    dev => dev.client.why(name, options.session === undefined ? {} : { session: options.session }),
    async () => {
      if (options.session !== undefined)
        throw new UsageError(
          '--session needs a running dev with these roots, and there is none; start one with "stoke dev"',
        )
      const catalog = { countTokens, ...config.catalog }
      await using skills = await openSkills(config, {
        watching: 'off',
        reportsUnreadable: true,
        runsScripts: true,
        runtime: { catalog },
      })
      await skills.scripts.ready(skills.current.find(name))
      const view = skills.forConversation(config.scope === undefined ? {} : { scope: config.scope })
      return await view.why(name)
    },
  )
  const isServed = answer.steps.every(step => step.ok)
  if (options.json) {
    printJson({ ...answer, from })
    return isServed ? EXIT_OK : EXIT_FINDINGS
  }
  const paint = createPaint(config.hasColor)
  const rows = answer.steps.map(({ step, ok, detail }) => [
    ok ? paint('green', 'yes') : paint('red', 'no'),
    step,
    toAdvice(toTerminalLine(detail), config.options),
  ])
  printLine(formatTable(rows))
  printSource(from, config)
  return isServed ? EXIT_OK : EXIT_FINDINGS
}
