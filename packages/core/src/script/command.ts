import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import { showValue } from '../skill/text.ts'
import type { CommandHints } from './define-command.ts'

/** A command that a skill offers, as callers see it. */
export interface SkillCommand {
  /** `skill.name`: how it is addressed. */
  readonly id: string
  readonly skill: string
  readonly name: string
  readonly description: string
  /** JSON Schema of the input object. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  /** Whether the schema could only be read by running the script, in its sandbox. */
  readonly isDynamic: boolean
  readonly hints: CommandHints
  /** The file that exports it, relative to the folder of the skill. */
  readonly path: string
  /** Counted from 1; absent when only the loaded script knows of it. */
  readonly line?: number
  /** Digest of that file. */
  readonly digest: Digest
}

/** What a scan finds without running anything. */
export interface ScannedCommand extends Omit<SkillCommand, 'inputSchema' | 'isDynamic'> {
  /** Absent when it is no literal. */
  readonly inputSchema?: Readonly<Record<string, unknown>>
  /** The name under which the file exports it. */
  readonly exportName: string
}

export interface ScriptScan {
  /** Sorted by name. */
  readonly commands: readonly ScannedCommand[]
  /** The files that export commands, in the order in which they are loaded. */
  readonly modules: readonly string[]
  /** These and every file of the skill that they import, as far as that is written down. */
  readonly sources: readonly string[]
  /** Whether all there is to know of the commands is known. */
  readonly isComplete: boolean
  readonly diagnostics: readonly Diagnostic[]
}

/** A file as a scan reads it, from a disk or not. */
export interface ScriptText {
  /** Relative to the folder of the skill. */
  readonly path: string
  readonly text: string
  readonly digest: Digest
}

/** Returns a command whose schema is a new copy at each reading, because validators write into the one they are given. */
export function withOwnSchema({ inputSchema, ...rest }: SkillCommand): SkillCommand {
  return Object.freeze({
    ...rest,
    get inputSchema() {
      return structuredClone(inputSchema)
    },
  })
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/

/** What is wrong with the name of a command, if anything is. */
export function checkCommandName(name: unknown): string | undefined {
  if (typeof name === 'string' && NAME.test(name)) return undefined
  return `the name of the command is ${showValue(name, MAX_SHOWN)}; use 1 to 64 letters, digits, "_" and "-"`
}

const MAX_SHOWN = 100
const MAX_DESCRIPTION = 4_096
const MAX_SCHEMA = 65_536

/** What a script says a command does, as far as that is what it may say. */
export function toCommandHints(value: unknown): CommandHints {
  if (typeof value !== 'object' || value === null) return {}
  const hints = value as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    HINTS.flatMap(key => (typeof hints[key] === 'boolean' ? [[key, hints[key]]] : [])),
  )
}

const HINTS: readonly (keyof CommandHints)[] = ['readOnly', 'destructive', 'idempotent', 'openWorld']

/** A description that a list can bear; `undefined` when there is none. */
export function toCommandDescription(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.trim().slice(0, MAX_DESCRIPTION) : ''
  return text === '' ? undefined : text
}

type Fields = Readonly<Record<string, unknown>>

/** What is wrong with the JSON Schema of an input, if anything is. */
export function checkInputSchema(schema: unknown): string | undefined {
  if (!isFields(schema)) return 'its input is no JSON Schema; use { type: "object", properties: { ... } }'
  const { type, properties = {}, required = [] } = schema
  if (type !== 'object') return `the type of its input is ${showValue(type, MAX_SHOWN)}; use "object"`
  if (!isFields(properties))
    return `the properties of its input are ${showValue(properties, MAX_SHOWN)}; use an object of schemas`
  if (!Array.isArray(required) || !required.every(each => typeof each === 'string'))
    return `what its input requires is ${showValue(required, MAX_SHOWN)}; use a list of names`
  const { length } = JSON.stringify(schema)
  if (length > MAX_SCHEMA) return `the schema of its input has ${length} characters; at most ${MAX_SCHEMA}`
  const wrong = findWrongType(schema, '')
  if (wrong === undefined) return undefined
  return `the type of ${showValue(wrong.field, MAX_SHOWN)} in its input is ${showValue(wrong.type, MAX_SHOWN)}; use one of ${TYPES.join(', ')}`
}

/** Of a misspelt type a validator says only that no input has it. */
function findWrongType(
  schema: unknown,
  field: string,
): { readonly field: string; readonly type: unknown } | undefined {
  if (!isFields(schema)) return undefined
  const { type, properties, items, additionalProperties } = schema
  const types = type === undefined ? [] : Array.isArray(type) ? type : [type]
  if (!types.every(each => TYPES.includes(each as string))) return { field, type }
  const within = (name: string): string => (field === '' ? name : `${field}.${name}`)
  const inner: readonly (readonly [string, unknown])[] = [
    ...Object.entries(isFields(properties) ? properties : {}).map(
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

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const MODULE = /\.(?:ts|mts|js|mjs)$/

/** Whether modules may import a file: of others a scan needs no text. */
export function mayBeImported(path: string): boolean {
  return /\.(?:[mc]?[jt]s|json)$/.test(path)
}

/** Whether a file is code that is run by nobody but other code: private, a test, or declarations. */
export function isHelperModule(path: string): boolean {
  return MODULE.test(path) && !mayExportCommands(path)
}

/** Whether a file may be a module with commands: below `scripts/`, and neither private, nor a test, nor declarations. */
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

/** What `skill.command` names. */
export interface CommandAddress {
  readonly skill: string
  readonly command: string
}

/** Splits `skill.command` where the name of the command begins; `undefined` when there is none. */
export function splitCommandId(id: string): CommandAddress | undefined {
  if (typeof id !== 'string') return undefined
  const dot = id.lastIndexOf('.')
  if (dot <= 0 || dot === id.length - 1) return undefined
  return { skill: id.slice(0, dot), command: id.slice(dot + 1) }
}
