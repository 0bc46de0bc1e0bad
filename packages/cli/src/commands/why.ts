import type { Config } from '../config.ts'
import { EXIT_FINDINGS, EXIT_OK } from '../exit-code.ts'
import { openSkills } from '../open-skills.ts'
import { createPaint, formatTable, printJson, printLine, toTerminalLine } from '../output.ts'

/** `stoke why`: where a skill stopped on its way to a conversation. */
export async function why(
  name: string,
  config: Config,
  options: { readonly json: boolean },
): Promise<number> {
  await using skills = await openSkills(config, { watching: 'off' })
  const explanation = skills.explain(name)
  const isServed = explanation.steps.every(step => step.ok)
  if (options.json) {
    printJson(explanation)
    return isServed ? EXIT_OK : EXIT_FINDINGS
  }
  const paint = createPaint(config.hasColor)
  const rows = explanation.steps.map(({ step, ok, detail }) => [
    ok ? paint('green', 'yes') : paint('red', 'no'),
    step,
    toTerminalLine(detail),
  ])
  printLine(formatTable(rows))
  return isServed ? EXIT_OK : EXIT_FINDINGS
}
