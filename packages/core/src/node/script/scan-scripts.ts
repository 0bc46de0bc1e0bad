import {
  type CallExpression,
  type Comment,
  type Expression,
  type ImportNameKind,
  type ObjectExpression,
  type Program,
  parseSync,
  type StaticImport,
} from 'oxc-parser'
import {
  checkCommandName,
  type Diagnostic,
  mayExportCommands,
  type ScannedCommand,
  type ScriptScan,
  type ScriptText,
} from '../../index.ts'
import { type Constants, propertyName, readLiteral } from './read-literal.ts'
import { resolveImport } from './script-imports.ts'

// The parser declares its kinds as an enum without values.
const NAMESPACE = 'NamespaceObject' as ImportNameKind.NamespaceObject
const COMMAND_MODULE = 'skillstoke/command'
const CODE = /\.[mc]?[jt]s$/

/** A module as it is written. */
interface Parsed {
  readonly file: ScriptText
  readonly program: Program
  readonly comments: readonly Comment[]
  readonly imports: readonly StaticImport[]
  /** Specifiers of `export ... from`, with the offset of each. */
  readonly reexports: readonly { readonly specifier: string; readonly start: number }[]
  readonly diagnostics: readonly Diagnostic[]
}

/** What `scanScripts` finds, at once. */
export function scanTexts(skill: string, files: readonly ScriptText[]): ScriptScan {
  const byPath = new Map(files.map(file => [file.path, file]))
  const parsed = new Map<string, Parsed>()
  const diagnostics: Diagnostic[] = []
  const commands: ScannedCommand[] = []
  const modules: string[] = []
  let isComplete = true
  for (const file of [...files].sort(byDepthThenPath)) {
    if (!mayExportCommands(file.path) || !file.text.includes(COMMAND_MODULE)) continue
    const module = parse(file)
    if (module.diagnostics.length === 0 && definersOf(module).names.size === 0) continue
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

/** Those on top come first, so that the order is the same everywhere. */
function byDepthThenPath(a: ScriptText, b: ScriptText): number {
  const depth = ({ path }: ScriptText): number => path.split('/').length
  return depth(a) - depth(b) || (a.path < b.path ? -1 : 1)
}

function parse(file: ScriptText): Parsed {
  const lang = /\.[mc]?ts$/.test(file.path) ? 'ts' : 'js'
  const { program, comments, module, errors } = parseSync(file.path, file.text, {
    lang,
    sourceType: 'module',
    // What the engine would refuse although the grammar allows it, such as a name that is declared twice.
    showSemanticErrors: true,
  })
  return {
    file,
    program,
    comments,
    imports: module.staticImports,
    reexports: module.staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ moduleRequest, isType }) =>
        moduleRequest === null || isType
          ? []
          : { specifier: moduleRequest.value, start: moduleRequest.start },
      ),
    ),
    diagnostics: errors.slice(0, 1).map(({ message, labels }) => ({
      code: 'SCRIPT_INVALID',
      severity: 'error',
      message: `${message.charAt(0).toLowerCase()}${message.slice(1)}`,
      path: file.path,
      ...placeOf(file.text, labels.at(-1)?.start ?? 0),
    })),
  }
}

/** What is wrong with a module and with everything that it imports, each module once. */
function followImports(
  first: Parsed,
  files: ReadonlyMap<string, ScriptText>,
  parsed: Map<string, Parsed>,
): Diagnostic[] {
  const found: Diagnostic[] = []
  const paths = new Set(files.keys())
  const waiting = [first]
  for (let module = waiting.pop(); module !== undefined; module = waiting.pop()) {
    const { path, text } = module.file
    if (parsed.has(path)) continue
    parsed.set(path, module)
    found.push(...module.diagnostics)
    for (const { specifier, start } of writtenImports(module)) {
      const target = resolveImport(path, { specifier, ...placeOf(text, start) }, paths)
      if (target.kind === 'refused') found.push(target.diagnostic)
      const file = target.kind === 'file' ? files.get(target.path) : undefined
      if (file !== undefined && CODE.test(file.path)) waiting.push(parse(file))
    }
  }
  return found
}

function writtenImports({ imports, reexports }: Parsed): readonly { specifier: string; start: number }[] {
  // A type alone is gone before anything runs.
  const values = imports.filter(
    ({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType),
  )
  return [
    ...values.map(({ moduleRequest }) => ({ specifier: moduleRequest.value, start: moduleRequest.start })),
    ...reexports,
  ]
}

/** Under which names a module knows `defineCommand`, or the module that has it. */
function definersOf({ imports }: Parsed): {
  readonly names: ReadonlySet<string>
  readonly spaces: ReadonlySet<string>
} {
  const entries = imports
    .filter(({ moduleRequest }) => moduleRequest.value === COMMAND_MODULE)
    .flatMap(each => each.entries)
    .filter(({ isType }) => !isType)
  const localNames = (isMeant: (entry: (typeof entries)[number]) => boolean): string[] =>
    entries.filter(isMeant).map(({ localName }) => localName.value)
  const spaces = localNames(({ importName }) => importName.kind === NAMESPACE)
  return {
    names: new Set([...localNames(({ importName }) => importName.name === 'defineCommand'), ...spaces]),
    spaces: new Set(spaces),
  }
}

interface Found {
  readonly commands: ScannedCommand[]
  readonly diagnostics: Diagnostic[]
  readonly isComplete: boolean
}

function findCommands(module: Parsed, skill: string): Found {
  const constants = constantsOf(module.program)
  const found: Found[] = exportsOf(module.program, constants).flatMap(exported => {
    const call = asDefinition(exported.value, module)
    if (call !== undefined) return readDefinition(call, exported, { module, skill, constants })
    // A function may have made it: that is known when the module has run.
    return exported.value.type === 'CallExpression' ? UNKNOWN : []
  })
  return {
    commands: found.flatMap(({ commands }) => commands),
    diagnostics: found.flatMap(({ diagnostics }) => diagnostics),
    isComplete: found.length > 0 && found.every(({ isComplete }) => isComplete),
  }
}

const UNKNOWN: Found = { commands: [], diagnostics: [], isComplete: false }

interface Exported {
  readonly name: string
  readonly value: Expression
  /** Where the statement begins. */
  readonly start: number
}

/** What a module exports under a name, as far as that is an expression of its own. */
function exportsOf({ body }: Program, constants: Constants): Exported[] {
  return body.flatMap((statement): Exported[] => {
    if (statement.type === 'ExportDefaultDeclaration') {
      const { declaration, start } = statement
      const value = declaration.type === 'Identifier' ? constants.get(declaration.name) : declaration
      return value === undefined ? [] : [{ name: 'default', value: value as Expression, start }]
    }
    if (statement.type !== 'ExportNamedDeclaration' || statement.source !== null) return []
    const { declaration, specifiers, start } = statement
    if (declaration?.type === 'VariableDeclaration') {
      return declaration.declarations.flatMap(({ id, init }) =>
        id.type === 'Identifier' && init !== null ? { name: id.name, value: init, start } : [],
      )
    }
    return specifiers.flatMap(({ local, exported }) => {
      const value = 'name' in local ? constants.get(local.name) : undefined
      const name = 'name' in exported ? exported.name : exported.value
      return value === undefined ? [] : { name, value, start: value.start }
    })
  })
}

function constantsOf({ body }: Program): Constants {
  const constants = new Map<string, Expression>()
  for (const statement of body) {
    const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    if (declaration?.type !== 'VariableDeclaration' || declaration.kind !== 'const') continue
    for (const { id, init } of declaration.declarations)
      if (id.type === 'Identifier' && init !== null) constants.set(id.name, init)
  }
  return constants
}

/** The call of `defineCommand`, if an expression is one. */
function asDefinition(value: Expression, module: Parsed): CallExpression | undefined {
  if (value.type !== 'CallExpression') return undefined
  const { names, spaces } = definersOf(module)
  const { callee } = value
  if (callee.type === 'Identifier') return names.has(callee.name) ? value : undefined
  if (callee.type !== 'MemberExpression' || callee.object.type !== 'Identifier') return undefined
  const isMeant =
    spaces.has(callee.object.name) &&
    callee.property.type === 'Identifier' &&
    callee.property.name === 'defineCommand'
  return isMeant ? value : undefined
}

interface Around {
  readonly module: Parsed
  readonly skill: string
  readonly constants: Constants
}

function readDefinition(
  call: CallExpression,
  exported: Exported,
  { module, skill, constants }: Around,
): Found {
  const { file, comments } = module
  const place = placeOf(file.text, call.start)
  const [argument] = call.arguments
  if (argument?.type !== 'ObjectExpression') return UNKNOWN
  const fields = fieldsOf(argument)
  const literal = (key: string): unknown => {
    const value = fields.get(key)
    return value === undefined ? undefined : readLiteral(value, constants)?.value
  }
  const name = literal('name')
  const isNamed = !fields.has('name') || name !== undefined
  if (!isNamed) return UNKNOWN
  const fault = checkCommandName(name)
  if (fault !== undefined) {
    const diagnostic = {
      code: 'COMMAND_INVALID',
      severity: 'error',
      message: fault,
      path: file.path,
      ...place,
    } as const
    return { commands: [], diagnostics: [diagnostic], isComplete: true }
  }
  const schema = toSchema(literal('input'))
  const description = literal('description')
  const hints = literal('hints')
  return {
    commands: [
      {
        id: `${skill}.${String(name)}`,
        skill,
        name: String(name),
        description:
          (typeof description === 'string' && description.trim()) ||
          docCommentBefore(exported.start, file.text, comments) ||
          `Execute ${skill}.${String(name)}`,
        ...(fields.has('input')
          ? schema === undefined
            ? {}
            : { inputSchema: schema }
          : { inputSchema: NO_FIELDS }),
        hints: isRecord(hints) ? hints : {},
        path: file.path,
        line: place.line,
        digest: file.digest,
        exportName: exported.name,
      },
    ],
    diagnostics: [],
    isComplete:
      argument.properties.every(property => property.type === 'Property') &&
      (!fields.has('input') || schema !== undefined) &&
      (!fields.has('description') || typeof description === 'string'),
  }
}

const NO_FIELDS = Object.freeze({ type: 'object', properties: {}, additionalProperties: false })

function fieldsOf({ properties }: ObjectExpression): ReadonlyMap<string, Expression> {
  return new Map(
    properties.flatMap(property => {
      const name = propertyName(property)
      return name === undefined || property.type !== 'Property' ? [] : [[name, property.value] as const]
    }),
  )
}

function toSchema(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return isRecord(value) && value['type'] === 'object' ? value : undefined
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The text of the comment that ends right before an offset, without its stars. */
function docCommentBefore(offset: number, text: string, comments: readonly Comment[]): string {
  const comment = comments.findLast(
    ({ type, value, end }) =>
      type === 'Block' && value.startsWith('*') && end <= offset && text.slice(end, offset).trim() === '',
  )
  const lines =
    comment?.value
      .slice(1)
      .split('\n')
      .map(line => line.replace(/^\s*\*? ?/, '').trim()) ?? []
  const end = lines.findIndex(line => line.startsWith('@'))
  return lines
    .slice(0, end < 0 ? undefined : end)
    .join(' ')
    .trim()
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
    const message = `the command ${JSON.stringify(command.id)} is there twice; ${other.path}:${other.line} has it, too`
    return [
      { code: 'COMMAND_INVALID', severity: 'error', message, path, ...(line === undefined ? {} : { line }) },
    ]
  })
}

/** Line and column of an offset, both counted from 1. */
export function placeOf(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset)
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') }
}
