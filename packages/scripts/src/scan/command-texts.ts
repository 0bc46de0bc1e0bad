import { mayExportCommands } from '@skillstoke/core/internal'
import type { ScriptScan, ScriptText } from '@skillstoke/core/source'

/** Whether anything has to be parsed to know that there are no commands. */
export function mayHaveCommands(files: readonly ScriptText[], known: readonly string[]): boolean {
  return files.some(file => meansCommands(file) || isKnown(file, known))
}

export const NO_COMMANDS: ScriptScan = Object.freeze({
  commands: [],
  modules: [],
  sources: [],
  isComplete: true,
  diagnostics: [],
})

/** What is known of scripts that nobody could read to the end. */
export function toUnreadable(files: readonly ScriptText[], known: readonly string[]): ScriptScan {
  const modules = files.flatMap(file => (meansCommands(file) || isKnown(file, known) ? file.path : []))
  const diagnostics = modules.map(
    path =>
      ({
        code: 'SCRIPT_INVALID',
        severity: 'error',
        message: 'the scripts of the skill took too long to read, or too much memory',
        path,
      }) as const,
  )
  return { ...NO_COMMANDS, modules, sources: modules, diagnostics }
}

// Whoever writes one of these means commands, even if it is misspelt.
const MEANT = /from\s*['"]@?skillstoke|\bdefineCommand\s*\(/

export function meansCommands({ path, text }: ScriptText): boolean {
  return mayExportCommands(path) && MEANT.test(text)
}

export function isKnown({ path }: ScriptText, known: readonly string[]): boolean {
  return mayExportCommands(path) && known.includes(path)
}
