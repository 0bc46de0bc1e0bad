import { mayExportCommands } from '@skillstoke/core/internal'
import type { ScriptScan, ScriptText } from '@skillstoke/core/source'

/** Whether the files must be parsed to find out if they contain commands. */
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

/** Returns the scan result for scripts that could not be parsed completely. */
export function toUnreadable(files: readonly ScriptText[], known: readonly string[]): ScriptScan {
  const modules = files.flatMap(file => (meansCommands(file) || isKnown(file, known) ? file.path : []))
  const diagnostics = modules.map(
    path =>
      ({
        code: 'SCRIPT_INVALID',
        severity: 'error',
        message: 'reading the scripts of the skill took too long or used too much memory',
        path,
      }) as const,
  )
  return { ...NO_COMMANDS, modules, sources: modules, diagnostics }
}

// A file with one of these texts is meant to define commands, even if the file has a spelling mistake elsewhere.
const MEANT = /from\s*['"]@?skillstoke|\bdefineCommand\s*\(/

export function meansCommands({ path, text }: ScriptText): boolean {
  return mayExportCommands(path) && MEANT.test(text)
}

export function isKnown({ path }: ScriptText, known: readonly string[]): boolean {
  return mayExportCommands(path) && known.includes(path)
}
