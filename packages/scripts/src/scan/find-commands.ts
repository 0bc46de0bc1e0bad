import type { CallExpression, Comment, Expression, ObjectExpression } from '@babel/types'
import type { Diagnostic } from '@skillstoke/core'
import { defined, quote } from '@skillstoke/core/internal'
import type { ScannedCommand } from '@skillstoke/core/source'
import {
  checkCommandName,
  checkInputSchema,
  toCommandDescription,
  toCommandHints,
} from '../declared-command.ts'
import { constantsOf, type Exported, exportsOf, isNoCommand } from './module-exports.ts'
import { type ParsedModule, type Place, placeOf } from './parse-module.ts'
import { LiteralReader, toField } from './read-literal.ts'

export const COMMAND_MODULE = 'skillstoke/command'

/** Returns the names under which a module imports `defineCommand`, or a namespace that contains `defineCommand`. */
function definersOf({ imports }: ParsedModule): {
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

/** Whether a module could define a command. */
export function knowsDefiner(module: ParsedModule): boolean {
  const { names, spaces } = definersOf(module)
  return names.size + spaces.size > 0
}

/** The commands and diagnostics of a module, and whether the list of commands is complete. */
export interface Found {
  readonly commands: ScannedCommand[]
  readonly diagnostics: Diagnostic[]
  readonly isComplete: boolean
}

/** Returns the exported commands that can be found in the text of a module. */
export function findCommands(module: ParsedModule, skill: string): Found {
  const constants = constantsOf(module.body)
  const reader = new LiteralReader(constants)
  const { exported, isComplete } = exportsOf(module.body, constants)
  const found = exported.flatMap((each): readonly Found[] => {
    const call = asDefinition(each.value, module)
    if (call !== undefined) return [readDefinition(call, each, { module, skill, reader })]
    // The value comes from a function or another module. Only after the module has run is it known whether the value is
    // a command.
    return isNoCommand(each.value) ? [] : [UNKNOWN]
  })
  const kept = [...constants].filter(
    ([, value]) => asDefinition(value, module) !== undefined && exported.every(each => each.value !== value),
  )
  return {
    commands: found.flatMap(({ commands }) => commands),
    // The scan cannot see every way to export a command, for example as the result of a function.
    diagnostics: [
      ...found.flatMap(({ diagnostics }) => diagnostics),
      ...(isComplete &&
      exported.every(({ value }) => value.type !== 'CallExpression' || asDefinition(value, module))
        ? kept.map(([name, value]) => describeKept(name, value, module))
        : []),
    ],
    isComplete: isComplete && found.length > 0 && found.every(each => each.isComplete),
  }
}

function describeKept(name: string, value: Expression, { file }: ParsedModule): Diagnostic {
  return {
    code: 'COMMAND_INVALID',
    severity: 'warning',
    message: `the command ${quote(name)} is not exported, so it cannot be called`,
    fix: `write export const ${name} = defineCommand(...)`,
    path: file.path,
    ...placeOf(value),
  }
}

const UNKNOWN: Found = { commands: [], diagnostics: [], isComplete: false }

/** Returns the expression if it is a call of `defineCommand()`, otherwise `undefined`. */
function asDefinition(value: Expression, module: ParsedModule): CallExpression | undefined {
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
  readonly module: ParsedModule
  readonly skill: string
  readonly reader: LiteralReader
}

function readDefinition(call: CallExpression, exported: Exported, { module, skill, reader }: Around): Found {
  const { file, comments } = module
  const place = placeOf(call)
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
          : { inputSchema: { type: 'object', properties: {}, additionalProperties: false } }),
        hints: toCommandHints(hints),
        path: file.path,
        ...defined({ line: place.line }),
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

function refused(message: string, path: string, place: Place): Found {
  const diagnostic = { code: 'COMMAND_INVALID', severity: 'error', message, path, ...place } as const
  return { commands: [], diagnostics: [diagnostic], isComplete: true }
}

function fieldsOf({ properties }: ObjectExpression): ReadonlyMap<string, Expression> {
  return new Map(
    properties.flatMap(property => {
      const field = toField(property)
      return field === undefined ? [] : [[field.name, field.value] as const]
    }),
  )
}

function toSchema(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as Readonly<Record<string, unknown>>) : undefined
}

/** Returns the text of the doc comment directly before an offset. Omits stars and tags. */
function docCommentBefore(offset: number, text: string, comments: readonly Comment[]): string {
  const comment = comments.findLast(({ end }) => end !== undefined && end <= offset)
  const isDoc =
    comment?.type === 'CommentBlock' &&
    comment.value.startsWith('*') &&
    text.slice(comment.end, offset).trim() === ''
  const lines =
    (isDoc ? comment : undefined)?.value
      .slice(1)
      .split('\n')
      .map(line => line.replace(/^\s*\*? ?/, '').trim()) ?? []
  const end = lines.findIndex(line => line.startsWith('@'))
  return lines
    .slice(0, end < 0 ? undefined : end)
    .join(' ')
    .trim()
}
