import type { ScriptScan, ScriptText } from '../../index.ts'

/**
 * Finds the commands of a skill in the texts of its files, without a file system and without running anything. Of files
 * that are no code the path is enough.
 */
export async function scanScripts(skill: string, files: readonly ScriptText[]): Promise<ScriptScan> {
  // The parser is native code that nobody should have to load who has no scripts.
  const { scanTexts } = await import('./scan-scripts.ts')
  return scanTexts(skill, files)
}
