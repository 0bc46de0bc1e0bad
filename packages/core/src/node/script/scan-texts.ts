import { parse as parseText } from '@babel/parser'
import type {
  CallExpression,
  Comment,
  Expression,
  File,
  ImportDeclaration,
  ObjectExpression,
  Statement,
} from '@babel/types'
import {
  checkCommandName,
  checkInputSchema,
  type Diagnostic,
  mayExportCommands,
  type ScannedCommand,
  type ScriptScan,
  type ScriptText,
  toCommandDescription,
  toCommandHints,
} from '../../index.ts'
import { type Constants, LiteralReader, toField } from './read-literal.ts'
import { resolveImport, type WrittenImport } from './script-imports.ts'

const COMMAND_MODULE = 'skillstoke/command'
// Whoever writes one of these means commands, even if it is misspelt.
const MEANT = /from\s*['"]@?skillstoke|\bdefineCommand\s*\(/
const CODE = /\.[mc]?[jt]s$/

// Nobody writes a script that is longer, and whatever reads it takes its time.
const MAX_CHARACTERS = 262_144

/** A module as it is written. */
interface Parsed {
  readonly file: ScriptText
  readonly body: readonly Statement[]
  readonly comments: readonly Comment[]
  readonly imports: readonly ImportDeclaration[]
  /** Everything that is imported or exported from elsewhere, and more than a type. */
  readonly written: readonly WrittenImport[]
  readonly diagnostics: readonly Diagnostic[]
}

/** What `scanScripts` finds, at once. */
export function scanTexts(
  skill: string,
  files: readonly ScriptText[],
  known: readonly string[] = [],
): ScriptScan {
  const byPath = new Map(files.map(file => [file.path, file]))
  const parsed = new Map<string, Parsed>()
  const diagnostics: Diagnostic[] = []
  const commands: ScannedCommand[] = []
  const modules: string[] = []
  let isComplete = true
  for (const file of [...files].sort(byDepthThenPath)) {
    const isMeant = MEANT.test(file.text)
    if (!mayExportCommands(file.path) || !(isMeant || known.includes(file.path))) continue
    const module = parse(file)
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

/** Those on top come first, so that the order is the same everywhere. */
function byDepthThenPath(a: ScriptText, b: ScriptText): number {
  const depth = ({ path }: ScriptText): number => path.split('/').length
  return depth(a) - depth(b) || (a.path < b.path ? -1 : 1)
}

function parse(file: ScriptText): Parsed {
  const nothing = { file, body: [], comments: [], imports: [], written: [] }
  const refuse = (
    message: string,
    place: { readonly line?: number; readonly column?: number } = {},
  ): Parsed => ({
    ...nothing,
    diagnostics: [{ code: 'SCRIPT_INVALID', severity: 'error', message, path: file.path, ...place }],
  })
  if (file.text.length > MAX_CHARACTERS)
    return refuse(`the script has ${file.text.length} characters; at most ${MAX_CHARACTERS} are read`)
  try {
    return toParsed(file, parseModule(file))
  } catch (thrown) {
    // Nested so deeply that nobody could read it: our stack ends, and nothing else does.
    if (thrown instanceof RangeError) return refuse('the script is nested too deeply')
    const { message, loc } = thrown as Error & {
      readonly loc?: { readonly line: number; readonly column: number }
    }
    const words = message.replace(/\s*\(\d+:\d+\)$/, '').replace(/\.$/, '')
    const place = loc === undefined ? {} : { line: loc.line, column: loc.column + 1 }
    return refuse(`${words.charAt(0).toLowerCase()}${words.slice(1)}`, place)
  }
}

function parseModule({ path, text }: ScriptText): File {
  const isTyped = /\.[mc]?ts$/.test(path)
  // CommonJS helpers are no modules.
  const sourceType = /\.c[jt]s$/.test(path) ? 'commonjs' : 'module'
  return parseText(text, { sourceType, plugins: isTyped ? ['typescript'] : [] })
}

function toParsed(file: ScriptText, { program, comments }: File): Parsed {
  const imports = program.body.filter(statement => statement.type === 'ImportDeclaration')
  const written = program.body.flatMap((statement): WrittenImport[] => {
    const { source } = statement as {
      readonly source?: { readonly value: string; readonly loc?: { readonly start: Position } | null } | null
    }
    if (source?.loc === undefined || source.loc === null || isTypeOnly(statement)) return []
    return [{ specifier: source.value, line: source.loc.start.line, column: source.loc.start.column + 1 }]
  })
  return { file, body: program.body, comments: comments ?? [], imports, written, diagnostics: [] }
}

interface Position {
  readonly line: number
  readonly column: number
}

/** A type alone is gone before anything runs. */
function isTypeOnly(statement: Statement): boolean {
  if (statement.type === 'ImportDeclaration')
    return (
      statement.importKind === 'type' ||
      (statement.specifiers.length > 0 &&
        statement.specifiers.every(each => each.type === 'ImportSpecifier' && each.importKind === 'type'))
    )
  return 'exportKind' in statement && statement.exportKind === 'type'
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
    const { path } = module.file
    if (parsed.has(path)) continue
    parsed.set(path, module)
    found.push(...module.diagnostics)
    for (const written of module.written) {
      const target = resolveImport(path, written, paths)
      if (target.kind === 'refused') found.push(target.diagnostic)
      const file = target.kind === 'file' ? files.get(target.path) : undefined
      if (file !== undefined && CODE.test(file.path)) waiting.push(parse(file))
    }
  }
  return found
}

/** Under which names a module knows `defineCommand`, or the module that has it. */
function definersOf({ imports }: Parsed): {
  readonly names: ReadonlySet<string>
  readonly spaces: ReadonlySet<string>
} {
  const [names, spaces] = [new Set<string>(), new Set<string>()]
  for (const statement of imports) {
    if (statement.source.value !== COMMAND_MODULE || statement.importKind === 'type') continue
    for (const each of statement.specifiers) {
      if (each.type === 'ImportNamespaceSpecifier') spaces.add(each.local.name)
      if (each.type !== 'ImportSpecifier' || each.importKind === 'type') continue
      const name = each.imported.type === 'Identifier' ? each.imported.name : each.imported.value
      if (name === 'defineCommand') names.add(each.local.name)
    }
  }
  return { names, spaces }
}

/** What keeps a module from having commands that its author surely meant. */
function findTypo(module: Parsed): Diagnostic | undefined {
  const { file, imports, body } = module
  const tell = (message: string, fix: string, place: Position | undefined): Diagnostic => ({
    code: 'COMMAND_INVALID',
    severity: 'error',
    message,
    fix,
    path: file.path,
    ...(place === undefined ? {} : { line: place.line, column: place.column + 1 }),
  })
  const right = `import { defineCommand } from '${COMMAND_MODULE}'`
  for (const { source, specifiers, importKind } of imports) {
    if (importKind === 'type') continue
    if (/^@?skillstoke/.test(source.value) && source.value !== COMMAND_MODULE)
      return tell(
        `scripts cannot import ${JSON.stringify(source.value)}`,
        `write ${right}`,
        source.loc?.start,
      )
    if (source.value !== COMMAND_MODULE) continue
    for (const each of specifiers) {
      if (each.type === 'ImportDefaultSpecifier')
        return tell(`"${COMMAND_MODULE}" has no default export`, `write ${right}`, each.loc?.start)
      if (each.type !== 'ImportSpecifier' || each.importKind === 'type') continue
      const name = each.imported.type === 'Identifier' ? each.imported.name : each.imported.value
      if (name !== 'defineCommand' && !TYPES.includes(name))
        return tell(
          `"${COMMAND_MODULE}" has no export ${JSON.stringify(name)}`,
          `write ${right}`,
          each.loc?.start,
        )
    }
  }
  const isImported = imports.some(({ specifiers }) =>
    specifiers.some(each => each.local.name === 'defineCommand'),
  )
  const isOwn = body.some(
    statement => statement.type === 'FunctionDeclaration' && statement.id?.name === 'defineCommand',
  )
  const isUsed = [
    ...constantsOf(body).values(),
    ...exportsOf(body, new Map()).map(({ value }) => value),
  ].some(
    value =>
      value.type === 'CallExpression' &&
      value.callee.type === 'Identifier' &&
      value.callee.name === 'defineCommand',
  )
  if (!isUsed || isImported || isOwn || knowsDefiner(module)) return undefined
  return tell('defineCommand is used and not imported', `write ${right}`, undefined)
}

// With the types a module may name them as values, and nothing comes of it.
const TYPES = [
  'CommandContext',
  'CommandDefinition',
  'CommandHints',
  'CommandInput',
  'DefinedCommand',
  'JsonSchemaObject',
  'StandardSchema',
]

function knowsDefiner(module: Parsed): boolean {
  const { names, spaces } = definersOf(module)
  return names.size + spaces.size > 0
}

interface Found {
  readonly commands: ScannedCommand[]
  readonly diagnostics: Diagnostic[]
  readonly isComplete: boolean
}

function findCommands(module: Parsed, skill: string): Found {
  const constants = constantsOf(module.body)
  const reader = new LiteralReader(constants)
  const found: Found[] = exportsOf(module.body, constants).flatMap(exported => {
    const call = asDefinition(exported.value, module)
    if (call !== undefined) return readDefinition(call, exported, { module, skill, reader })
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
function exportsOf(body: readonly Statement[], constants: Constants): Exported[] {
  return body.flatMap((statement): Exported[] => {
    const start = statement.start ?? 0
    if (statement.type === 'ExportDefaultDeclaration') {
      const { declaration } = statement
      const value = declaration.type === 'Identifier' ? constants.get(declaration.name) : declaration
      return value === undefined ? [] : [{ name: 'default', value: value as Expression, start }]
    }
    if (statement.type !== 'ExportNamedDeclaration' || statement.source) return []
    const { declaration, specifiers } = statement
    if (declaration?.type === 'VariableDeclaration') {
      return declaration.declarations.flatMap(({ id, init }) =>
        id.type === 'Identifier' && init ? { name: id.name, value: init, start } : [],
      )
    }
    return specifiers.flatMap(each => {
      if (each.type !== 'ExportSpecifier') return []
      const value = constants.get(each.local.name)
      const name = each.exported.type === 'Identifier' ? each.exported.name : each.exported.value
      return value === undefined ? [] : { name, value, start: value.start ?? 0 }
    })
  })
}

function constantsOf(body: readonly Statement[]): Constants {
  const constants = new Map<string, Expression>()
  for (const statement of body) {
    const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    if (declaration?.type !== 'VariableDeclaration' || declaration.kind !== 'const') continue
    for (const { id, init } of declaration.declarations)
      if (id.type === 'Identifier' && init) constants.set(id.name, init)
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
  readonly reader: LiteralReader
}

function readDefinition(call: CallExpression, exported: Exported, { module, skill, reader }: Around): Found {
  const { file, comments } = module
  const place = { line: call.loc?.start.line ?? 1, column: (call.loc?.start.column ?? 0) + 1 }
  const [argument] = call.arguments
  if (argument?.type !== 'ObjectExpression') return UNKNOWN
  const fields = fieldsOf(argument)
  const literal = (key: string): unknown => {
    const value = fields.get(key)
    return value === undefined ? undefined : reader.read(value)?.value
  }
  const name = literal('name')
  const isNamed = !fields.has('name') || name !== undefined
  if (!isNamed) return UNKNOWN
  const fault = checkCommandName(name)
  if (fault !== undefined) return refused(fault, file.path, place)
  const schema = toSchema(literal('input'))
  const schemaFault = schema === undefined ? undefined : checkInputSchema(schema)
  if (schemaFault !== undefined) return refused(schemaFault, file.path, place)
  const description = literal('description')
  const hints = literal('hints')
  return {
    commands: [
      {
        id: `${skill}.${String(name)}`,
        skill,
        name: String(name),
        description:
          toCommandDescription(description) ??
          toCommandDescription(docCommentBefore(exported.start, file.text, comments)) ??
          `Execute ${skill}.${String(name)}`,
        ...(fields.has('input')
          ? schema === undefined
            ? {}
            : { inputSchema: schema }
          : { inputSchema: NO_FIELDS }),
        hints: toCommandHints(hints),
        path: file.path,
        line: place.line,
        digest: file.digest,
        exportName: exported.name,
      },
    ],
    diagnostics: [],
    isComplete:
      argument.properties.every(property => property.type !== 'SpreadElement') &&
      (!fields.has('input') || schema !== undefined) &&
      (!fields.has('description') || typeof description === 'string'),
  }
}

function refused(message: string, path: string, place: Position): Found {
  const diagnostic = { code: 'COMMAND_INVALID', severity: 'error', message, path, ...place } as const
  return { commands: [], diagnostics: [diagnostic], isComplete: true }
}

const NO_FIELDS = Object.freeze({ type: 'object', properties: {}, additionalProperties: false })

function fieldsOf({ properties }: ObjectExpression): ReadonlyMap<string, Expression> {
  return new Map(
    properties.flatMap(property => {
      const field = toField(property)
      return field === undefined ? [] : [[field.name, field.value] as const]
    }),
  )
}

function toSchema(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return isRecord(value) ? value : undefined
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The text of the comment that ends right before an offset, without its stars. */
function docCommentBefore(offset: number, text: string, comments: readonly Comment[]): string {
  const comment = comments.findLast(
    ({ type, value, end }) =>
      type === 'CommentBlock' &&
      value.startsWith('*') &&
      end !== undefined &&
      end <= offset &&
      text.slice(end, offset).trim() === '',
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
