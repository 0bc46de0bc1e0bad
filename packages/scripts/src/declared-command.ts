import type { CommandHints } from '@skillstoke/core/command'
import { showValue } from '@skillstoke/core/internal'

// Checks what a script declares about a command. A script may declare anything.

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

type Fields = Readonly<Record<string, unknown>>

/** Returns the error in the JSON Schema of an input, or `undefined` if the schema is valid. */
export function checkInputSchema(schema: unknown): string | undefined {
  if (!isFields(schema)) return 'its input is not a JSON Schema; use { type: "object", properties: { ... } }'
  const { type, properties = {}, required = [] } = schema
  if (type !== 'object') return `the type of its input is ${showValue(type, MAX_SHOWN)}; use "object"`
  if (!isFields(properties))
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
