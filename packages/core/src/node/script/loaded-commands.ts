import {
  type Command,
  checkCommandName,
  type Diagnostic,
  type ScriptProgram,
  type ScriptScan,
} from '../../index.ts'
import type { CommandFrame } from './child/frames.ts'
import type { ProgramFolder } from './program-folder.ts'
import type { LoadFrameOutcome } from './script-process.ts'

/** What did not load, where that is in the file as its author wrote it. */
export function toLoadDiagnostic(
  { path, message, stack }: Extract<LoadFrameOutcome, { kind: 'failed' }>,
  { filesUrl, codeUrl }: ProgramFolder,
): Diagnostic {
  // Types were taken out and nothing was moved, so lines and columns are those of the text.
  const urls = [filesUrl, codeUrl].map(url => url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')
  const frame = new RegExp(`(?:${urls})([^\\s:)?]+)(?::(\\d+))?(?::(\\d+))?`).exec(stack)
  const [, file = path, line, column] = frame ?? []
  return {
    code: 'SCRIPT_FAILED',
    severity: 'error',
    message,
    ...(file === undefined ? {} : { path: decodeURIComponent(file) }),
    ...(line === undefined ? {} : { line: Number(line) }),
    ...(column === undefined ? {} : { column: Number(column) }),
  }
}

const MAX_DESCRIPTION = 4_096
const MAX_SCHEMA = 65_536

/** What the loaded modules say of their commands: somebody's script says it, so it is looked at. */
export function toCommands(
  { skill, files }: ScriptProgram,
  scan: ScriptScan,
  frames: readonly CommandFrame[],
): { readonly commands: readonly Command[]; readonly diagnostics: readonly Diagnostic[] } {
  const diagnostics: Diagnostic[] = []
  const commands = new Map<string, Command>()
  for (const { name, description, hints, inputSchema, isDynamic, path } of frames) {
    const refuse = (message: string): void =>
      void diagnostics.push({ code: 'COMMAND_INVALID', severity: 'error', message, path })
    const shown = JSON.stringify(`${skill}.${String(name)}`)
    const fault = checkCommandName(name)
    const schema = isObjectSchema(inputSchema) ? inputSchema : undefined
    if (fault !== undefined) refuse(fault)
    else if (commands.has(String(name))) refuse(`the command ${shown} is there twice`)
    else if (schema === undefined || JSON.stringify(schema).length > MAX_SCHEMA)
      refuse(`the input of ${shown} is no JSON Schema of an object, or a very long one`)
    else {
      const scanned = scan.commands.find(each => each.name === name)
      const own = typeof description === 'string' ? description.trim().slice(0, MAX_DESCRIPTION) : ''
      commands.set(String(name), {
        id: `${skill}.${String(name)}`,
        skill,
        name: String(name),
        description: own || (scanned?.description ?? `Execute ${skill}.${String(name)}`),
        inputSchema: schema,
        isDynamic: isDynamic || scanned === undefined,
        hints: typeof hints === 'object' && hints !== null ? hints : {},
        path,
        ...(scanned?.line === undefined ? {} : { line: scanned.line }),
        digest: files.find(file => file.path === path)?.digest ?? 'sha256:',
      })
    }
  }
  return { commands: [...commands.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), diagnostics }
}

function isObjectSchema(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && (value as Record<string, unknown>)['type'] === 'object'
  )
}
