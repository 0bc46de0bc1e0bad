import { defined, toGenerationId } from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
import { openSkills } from '../skills/open-skills.ts'
import { countTokens } from '../skills/tokens.ts'
import type { Answer } from '../terminal/answer.ts'
import { toTerminalText } from '../terminal/output.ts'

/** Implements `stoke render`: prints the exact catalog that a new conversation would get. */
export async function render(config: Config): Promise<Answer> {
  const catalogOptions = { ...config.catalog, countTokens }
  await using skills = await openSkills(config, {
    watching: 'off',
    runtime: { catalog: catalogOptions },
  })
  const { text, tokens, omitted } = skills.forConversation(defined({ scope: config.scope })).catalog()
  return {
    json: { generation: toGenerationId(skills.current), text, tokens, omitted },
    text: () => {
      if (text === '') process.stderr.write('no skill matches: the catalog is empty\n')
      const rest = omitted.length === 0 ? '' : `, ${omitted.length} omitted: ${omitted.join(', ')}`
      process.stderr.write(`${tokens} tokens (estimated)${rest}\n`)
      if (text === '') return []
      // Escapes control characters for a terminal. For other outputs, prints the exact text.
      return [process.stdout.isTTY === true ? toTerminalText(text) : text]
    },
  }
}
