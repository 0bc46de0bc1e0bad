import type { ScriptScan, ScriptText } from '@skillstoke/core/source'
import { mayHaveCommands, NO_COMMANDS } from './command-texts.ts'

/**
 * Finds the commands of a skill in the texts of its files, without a file system and without running anything. Of files
 * that are no code the path is enough. `known` are the files that had commands before: when one of them cannot be read, it
 * is broken, and not one without commands.
 */
export async function scanScripts(
  skill: string,
  files: readonly ScriptText[],
  known: readonly string[] = [],
): Promise<ScriptScan> {
  if (!mayHaveCommands(files, known)) return NO_COMMANDS
  // The parser is large, and nobody should have to load it who has no commands.
  const { scanTexts } = await import('./scan-texts.ts')
  return scanTexts(skill, files, known)
}
