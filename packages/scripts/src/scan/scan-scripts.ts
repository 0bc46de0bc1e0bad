import type { ScriptScan, ScriptText } from '@skillstoke/core/source'
import { mayHaveCommands, NO_COMMANDS } from './command-texts.ts'

/**
 * Finds the commands of a skill in the texts of its files. Uses no file system and runs no code. Files that are not code need only a path.
 * @param known files that had commands before; if such a file cannot be parsed, the file is reported as broken
 *
 * @example
 * ```ts
 * import { nodeHasher } from '@skillstoke/core/node'
 * import { scanScripts } from '@skillstoke/scripts'
 *
 * const text = `import { defineCommand } from 'skillstoke/command'
 * export const day = defineCommand({ name: 'day', description: 'Names the day.', run: () => 'Monday' })`
 * const file = { path: 'scripts/day.ts', text, digest: `sha256:${nodeHasher.sha256(text)}` } as const
 * const { commands, diagnostics } = await scanScripts('calendar', [file])
 * console.log(commands.map(({ id, line }) => `${id} at line ${line}`), diagnostics)
 * // prints [ 'calendar.day at line 2' ] []
 * ```
 */
export async function scanScripts(
  skill: string,
  files: readonly ScriptText[],
  known: readonly string[] = [],
): Promise<ScriptScan> {
  if (!mayHaveCommands(files, known)) return NO_COMMANDS
  // The parser is large, so a host loads it only when a skill may have commands.
  const { scanTexts } = await import('./scan-texts.ts')
  return scanTexts(skill, files, known)
}
