import { defined, toGenerationId } from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
import { openSkills } from '../skills/open-skills.ts'
import { countTokens } from '../skills/tokens.ts'
import { EXIT_OK } from '../terminal/exit-code.ts'
import { printJson, printLine, toTerminalText } from '../terminal/output.ts'

/** Implements `stoke render`: prints the exact catalog that a new conversation would get. */
export async function render(config: Config, { json }: { readonly json?: boolean }): Promise<number> {
  const catalogOptions = { ...config.catalog, countTokens }
  await using skills = await openSkills(config, {
    watching: 'off',
    runtime: { catalog: catalogOptions },
  })
  const catalog = skills.forConversation(defined({ scope: config.scope })).catalog()
  if (json) {
    printJson({
      generation: toGenerationId(skills.current),
      text: catalog.text,
      tokens: catalog.tokens,
      omitted: catalog.omitted,
    })
    return EXIT_OK
  }
  if (catalog.text === '') process.stderr.write('no skill matches: the catalog is empty\n')
  // Escapes control characters for a terminal. For other outputs, prints the exact text.
  else printLine(process.stdout.isTTY === true ? toTerminalText(catalog.text) : catalog.text)
  const omitted =
    catalog.omitted.length === 0 ? '' : `, ${catalog.omitted.length} omitted: ${catalog.omitted.join(', ')}`
  process.stderr.write(`${catalog.tokens} tokens (estimated)${omitted}\n`)
  return EXIT_OK
}
