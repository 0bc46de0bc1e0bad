import type { Diagnostic, SkillCommand } from '@skillstoke/core'
import { defined, quote } from '@skillstoke/core/internal'
import type { ScriptProgram, ScriptScan } from '@skillstoke/core/source'
import type { CommandFrame } from '../child/frames.ts'
import {
  checkCommandName,
  checkInputSchema,
  toCommandDescription,
  toCommandHints,
} from '../declared-command.ts'
import { toFolderUrl } from '../folders/program-folder.ts'
import type { Redaction } from './redact.ts'
import type { LoadFrameOutcome } from './script-process.ts'

/** Converts a load failure to a diagnostic that names the faulty file of the skill. */
export function toLoadDiagnostic(
  { path, message, stack }: Extract<LoadFrameOutcome, { kind: 'failed' }>,
  folder: string,
): Diagnostic {
  const place = { ...defined({ path }), ...findPlace(stack, folder) }
  return { code: 'SCRIPT_FAILED', severity: 'error', message, ...place }
}

/**
 * Returns the first position of an error stack that is in a file of the skill. Removing types leaves all other code in place, so lines and columns match the original text.
 */
export function findPlace(
  stack: string,
  folder: string,
): { readonly path?: string; readonly line?: number; readonly column?: number } {
  const [, ...texts] = stack.split(toFolderUrl(folder))
  const places = texts.map(text => /^([^\s:)?]+)(?::(\d+))?(?::(\d+))?/.exec(text))
  const [, file, line, column] = places.find(place => place !== null) ?? []
  const toNumber = (text: string | undefined): number | undefined => (text ? Number(text) : undefined)
  return defined({ path: file && decode(file), line: toNumber(line), column: toNumber(column) })
}

/** Decodes a path from a URL in an error stack. Decoding may fail, because a script can write any text into its error stacks. */
function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path // not a URL of this runner
  }
}

/** Validates the commands that the loaded modules report. These reports are not trusted, because scripts can change them. */
export function toCommands(
  { skill, files }: ScriptProgram,
  scan: ScriptScan,
  frames: readonly CommandFrame[],
  redaction: Redaction,
): { readonly commands: readonly SkillCommand[]; readonly diagnostics: readonly Diagnostic[] } {
  const diagnostics: Diagnostic[] = []
  const commands = new Map<string, SkillCommand>()
  for (const { name: said, description, hints, inputSchema, isDynamic, path } of frames) {
    const scanned = scan.commands.find(each => each.name === said)
    // A text that the file contains is not a secret. A name that the script computed may contain a secret.
    const name = scanned?.name ?? redaction.value(said)
    const refuse = (message: string): void =>
      void diagnostics.push({ code: 'COMMAND_INVALID', severity: 'error', message, path })
    const shown = quote(`${skill}.${String(name)}`)
    const fault = checkCommandName(name)
    const schemaFault = checkInputSchema(inputSchema)
    if (fault !== undefined) refuse(fault)
    else if (commands.has(String(name))) refuse(`the command ${shown} is defined twice`)
    else if (schemaFault !== undefined) refuse(`${shown}: ${schemaFault}`)
    else if (!scan.modules.includes(path)) refuse(`${shown}: no module of the skill has that path`)
    else {
      commands.set(String(name), {
        id: `${skill}.${String(name)}`,
        skill,
        name: String(name),
        description:
          toCommandDescription(description) ?? scanned?.description ?? `Execute ${skill}.${String(name)}`,
        inputSchema: inputSchema as SkillCommand['inputSchema'],
        isDynamic: isDynamic || scanned === undefined,
        hints: toCommandHints(hints),
        path,
        ...(scanned?.line === undefined ? {} : { line: scanned.line }),
        digest: files.find(file => file.path === path)?.digest ?? 'sha256:',
      })
    }
  }
  return { commands: [...commands.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), diagnostics }
}
