import { isRecord } from '../options.ts'
import { showValue } from '../quote.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import type { CommandHints } from './define-command.ts'

/** A command of a skill, as callers see it. */
export interface SkillCommand {
  /** The address of the command: `skill.name`. */
  readonly id: string
  readonly skill: string
  readonly name: string
  readonly description: string
  /** JSON Schema of the input object. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  /** True if the schema was read by running the script in its sandbox. */
  readonly isDynamic: boolean
  readonly hints: CommandHints
  /** The file that exports the command, relative to the folder of the skill. */
  readonly path: string
  /** Counted from 1. Absent if the command was found by loading the script, not by the scan. */
  readonly line?: number
  /** Digest of that file. */
  readonly digest: Digest
}

/** A command that a scan found without running code. */
export interface ScannedCommand extends Omit<SkillCommand, 'inputSchema' | 'isDynamic'> {
  /** Absent if the schema is not a literal. */
  readonly inputSchema?: Readonly<Record<string, unknown>>
  /** The export name of the command in its file. */
  readonly exportName: string
}

export interface ScriptScan {
  /** Sorted by name. */
  readonly commands: readonly ScannedCommand[]
  /** The files that export commands, in the order in which they are loaded. */
  readonly modules: readonly string[]
  /** The files that export commands, and every file of the skill that such a file imports with a literal path. */
  readonly sources: readonly string[]
  /** True if the scan found every command and every schema, so the commands can be listed without running code. */
  readonly isComplete: boolean
  readonly diagnostics: readonly Diagnostic[]
}

/** A file that a scan reads. */
export interface ScriptText {
  /** Relative to the folder of the skill. */
  readonly path: string
  readonly text: string
  readonly digest: Digest
}

/** Returns a command that copies its schema at each access, because some validators modify the schema they receive. */
export function withOwnSchema({ inputSchema, ...rest }: SkillCommand): SkillCommand {
  return Object.freeze({
    ...rest,
    get inputSchema() {
      return structuredClone(inputSchema)
    },
  })
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/

/** Returns the error in a command name, or `undefined` if the name is valid. */
export function checkCommandName(name: unknown): string | undefined {
  if (typeof name === 'string' && NAME.test(name)) return undefined
  return `the name of the command is ${showValue(name, MAX_SHOWN)}; use 1 to 64 letters, digits, "_" and "-"`
}

const MAX_SHOWN = 100
const MAX_DESCRIPTION = 4_096
const MAX_SCHEMA = 65_536

/** Returns the valid hints that a script declared, and drops all invalid values. */
export function toCommandHints(value: unknown): CommandHints {
  if (typeof value !== 'object' || value === null) return {}
  const hints = value as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    HINTS.flatMap(key => (typeof hints[key] === 'boolean' ? [[key, hints[key]]] : [])),
  )
}

const HINTS: readonly (keyof CommandHints)[] = ['readOnly', 'destructive', 'idempotent', 'openWorld']

/** Returns the description, cut to the maximum length; `undefined` if the value is not a description. */
export function toCommandDescription(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.trim().slice(0, MAX_DESCRIPTION) : ''
  return text === '' ? undefined : text
}

/** Returns the error in the JSON Schema of an input, or `undefined` if the schema is valid. */
export function checkInputSchema(schema: unknown): string | undefined {
  if (!isRecord(schema)) return 'its input is not a JSON Schema; use { type: "object", properties: { ... } }'
  const { type, properties = {}, required = [] } = schema
  if (type !== 'object') return `the type of its input is ${showValue(type, MAX_SHOWN)}; use "object"`
  if (!isRecord(properties))
    return `the properties of its input are ${showValue(properties, MAX_SHOWN)}; use an object of schemas`
  if (!Array.isArray(required) || !required.every(each => typeof each === 'string'))
    return `"required" of its input is ${showValue(required, MAX_SHOWN)}; use a list of names`
  const { length } = JSON.stringify(schema)
  if (length > MAX_SCHEMA) return `the schema of its input has ${length} characters; at most ${MAX_SCHEMA}`
  const wrong = findWrongType(schema, '')
  if (wrong === undefined) return undefined
  return `the type of ${showValue(wrong.field, MAX_SHOWN)} in its input is ${showValue(wrong.type, MAX_SHOWN)}; use one of ${TYPES.join(', ')}`
}

/**
 * Finds a misspelt type in a schema. Without this check, a validator would only report that no input matches the
 * schema.
 */
function findWrongType(
  schema: unknown,
  field: string,
): { readonly field: string; readonly type: unknown } | undefined {
  if (!isRecord(schema)) return undefined
  const { type, properties, items, additionalProperties } = schema
  const types = type === undefined ? [] : Array.isArray(type) ? type : [type]
  if (!types.every(each => TYPES.includes(each as string))) return { field, type }
  const within = (name: string): string => (field === '' ? name : `${field}.${name}`)
  const inner: readonly (readonly [string, unknown])[] = [
    ...Object.entries(isRecord(properties) ? properties : {}).map(
      ([name, each]) => [within(name), each] as const,
    ),
    [within('*'), items],
    [within('*'), additionalProperties],
    ...COMBINERS.flatMap(key => {
      const list = schema[key]
      return Array.isArray(list) ? list.map(each => [field, each] as const) : []
    }),
  ]
  for (const [name, each] of inner) {
    const wrong = findWrongType(each, name)
    if (wrong !== undefined) return wrong
  }
  return undefined
}

const TYPES: readonly string[] = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']
const COMBINERS = ['anyOf', 'oneOf', 'allOf'] as const

const MODULE = /\.(?:ts|mts|js|mjs)$/

/** True if a module may import this file. A scan needs only the texts of such files. */
export function mayBeImported(path: string): boolean {
  return /\.(?:[mc]?[jt]s|json)$/.test(path)
}

/** True if a path is a module that must not export commands, for example a test. */
export function isHelperModule(path: string): boolean {
  return MODULE.test(path) && !mayExportCommands(path)
}

/**
 * True if a file may export commands. Such a file is a module below `scripts/` that is neither private nor a test nor a
 * type declaration.
 */
export function mayExportCommands(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return (
    path.startsWith('scripts/') &&
    MODULE.test(name) &&
    !name.startsWith('_') &&
    !/\.(?:test|spec|d)\.[a-z]+$/.test(name) &&
    !path.includes('/node_modules/')
  )
}

/** The skill name and the command name in `skill.command`. */
export interface CommandAddress {
  readonly skill: string
  readonly command: string
}

/** Splits `skill.command` at its last dot. Returns `undefined` if a part is missing. */
export function splitCommandId(id: string): CommandAddress | undefined {
  if (typeof id !== 'string') return undefined
  const dot = id.lastIndexOf('.')
  if (dot <= 0 || dot === id.length - 1) return undefined
  return { skill: id.slice(0, dot), command: id.slice(dot + 1) }
}
