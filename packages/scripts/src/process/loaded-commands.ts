import type { Diagnostic, SkillCommand } from '@skillstoke/core'
import {
  checkCommandName,
  checkInputSchema,
  toCommandDescription,
  toCommandHints,
} from '@skillstoke/core/internal'
import type { ScriptProgram, ScriptScan } from '@skillstoke/core/source'
import type { CommandFrame } from '../child/frames.ts'
import type { ProgramFolder } from '../folders/program-folder.ts'
import type { Redaction } from './redact.ts'
import type { LoadFrameOutcome } from './script-process.ts'

/** What did not load, where that is in the file as its author wrote it. */
export function toLoadDiagnostic(
  { path, message, stack }: Extract<LoadFrameOutcome, { kind: 'failed' }>,
  folder: ProgramFolder,
): Diagnostic {
  const { path: file = path, ...place } = findPlace(stack, folder)
  return {
    code: 'SCRIPT_FAILED',
    severity: 'error',
    message,
    ...(file === undefined ? {} : { path: file }),
    ...place,
  }
}

/**
 * The first file of the skill in a stack. Types were taken out and nothing was moved, so lines and columns are those of
 * the text.
 */
export function findPlace(
  stack: string,
  { filesUrl, codeUrl }: Pick<ProgramFolder, 'filesUrl' | 'codeUrl'>,
): { readonly path?: string; readonly line?: number; readonly column?: number } {
  const urls = [filesUrl, codeUrl].map(url => url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')
  const [, file, line, column] =
    new RegExp(`(?:${urls})([^\\s:)?]+)(?::(\\d+))?(?::(\\d+))?`).exec(stack) ?? []
  return {
    ...(file === undefined ? {} : { path: decode(file) }),
    ...(line === undefined ? {} : { line: Number(line) }),
    ...(column === undefined ? {} : { column: Number(column) }),
  }
}

/** A path as it stands in a URL; a script can write anything into a stack. */
function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path // no URL of ours
  }
}

/** What the loaded modules say of their commands: somebody's script says it, so it is looked at. */
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
    // What stands in the text is no secret; what was made while it ran may be one.
    const name = scanned?.name ?? redaction.value(said)
    const refuse = (message: string): void =>
      void diagnostics.push({ code: 'COMMAND_INVALID', severity: 'error', message, path })
    const shown = JSON.stringify(`${skill}.${String(name)}`)
    const fault = checkCommandName(name)
    const schemaFault = checkInputSchema(inputSchema)
    if (fault !== undefined) refuse(fault)
    else if (commands.has(String(name))) refuse(`the command ${shown} is there twice`)
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
