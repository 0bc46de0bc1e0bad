import type { Diagnostic } from '@skillstoke/core'
import { quote } from '@skillstoke/core/internal'
import type { ScannedCommand, ScriptScan, ScriptText } from '@skillstoke/core/source'
import { isKnown, meansCommands } from './command-texts.ts'
import { findCommands, knowsDefiner } from './find-commands.ts'
import { findTypo } from './find-typo.ts'
import { type ParsedModule, parseModule } from './parse-module.ts'
import { resolveImport } from './script-imports.ts'

const CODE = /\.[mc]?[jt]s$/

// Maximum length of all scripts of one skill, because parsing is slow.
const MAX_CHARACTERS = 524_288

/** Finds the commands of a skill in its texts. Runs synchronously. */
export function scanTexts(
  skill: string,
  files: readonly ScriptText[],
  known: readonly string[] = [],
): ScriptScan {
  const byPath = new Map(files.map(file => [file.path, file]))
  const parsed = new Map<string, ParsedModule>()
  const diagnostics: Diagnostic[] = []
  const commands: ScannedCommand[] = []
  const modules: string[] = []
  let isComplete = true
  let read = 0
  for (const file of [...files].sort(byDepthThenPath)) {
    const isMeant = meansCommands(file)
    if (!isMeant && !isKnown(file, known)) continue
    read += file.text.length
    if (read > MAX_CHARACTERS) {
      diagnostics.push(refuseTooMuch(file))
      break
    }
    const module = parseModule(file)
    const typo = isMeant ? findTypo(module) : undefined
    if (typo !== undefined) diagnostics.push(typo)
    if (module.diagnostics.length === 0 && !knowsDefiner(module)) continue
    modules.push(file.path)
    diagnostics.push(...followImports(module, byPath, parsed))
    if (module.diagnostics.length > 0) continue
    const found = findCommands(module, skill)
    commands.push(...found.commands)
    diagnostics.push(...found.diagnostics)
    isComplete &&= found.isComplete
  }
  diagnostics.push(...findDoubles(commands))
  return {
    commands: commands.sort((a, b) => (a.name < b.name ? -1 : 1)),
    modules,
    sources: [...parsed.keys()],
    isComplete,
    diagnostics,
  }
}

function refuseTooMuch({ path }: ScriptText): Diagnostic {
  const message = `the scripts that define commands have more than ${MAX_CHARACTERS} characters in total`
  return { code: 'SCRIPT_INVALID', severity: 'error', message, path }
}

/** Sorts by depth and then by path, so that the order is the same on every machine. */
function byDepthThenPath(a: ScriptText, b: ScriptText): number {
  const depth = ({ path }: ScriptText): number => path.split('/').length
  return depth(a) - depth(b) || (a.path < b.path ? -1 : 1)
}

/** Returns the diagnostics of a module and of all modules that it imports, directly or indirectly. Visits each module once. */
function followImports(
  first: ParsedModule,
  files: ReadonlyMap<string, ScriptText>,
  parsed: Map<string, ParsedModule>,
): Diagnostic[] {
  const found: Diagnostic[] = []
  const paths = new Set(files.keys())
  const waiting = [first]
  for (let module = waiting.pop(); module !== undefined; module = waiting.pop()) {
    const { path } = module.file
    if (parsed.has(path)) continue
    parsed.set(path, module)
    found.push(...module.diagnostics)
    for (const written of module.written) {
      const { path: target = '', diagnostic } = resolveImport(path, written, paths)
      if (diagnostic !== undefined) found.push(diagnostic)
      const file = files.get(target)
      if (file !== undefined && CODE.test(file.path)) waiting.push(parseModule(file))
    }
  }
  return found
}

function findDoubles(commands: readonly ScannedCommand[]): Diagnostic[] {
  const first = new Map<string, ScannedCommand>()
  return commands.flatMap(command => {
    const other = first.get(command.name)
    if (other === undefined) {
      first.set(command.name, command)
      return []
    }
    const { path, line } = command
    const message = `the command ${quote(command.id)} is defined twice, also at ${other.path}:${other.line}`
    return [
      { code: 'COMMAND_INVALID', severity: 'error', message, path, ...(line === undefined ? {} : { line }) },
    ]
  })
}
