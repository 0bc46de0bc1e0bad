import { isRecord } from '../options.ts'
import { quoteAll, shorten, showValue } from '../quote.ts'
import { type ToolInputField, type ToolResult, toolFailure } from './tool-definition.ts'

/** The fields of an input, by name. */
export type ToolInput = Readonly<Record<string, unknown>>

const MAX_SHOWN = 100

/**
 * Reads an input as an object. Accepts JSON text and `undefined`, because some SDKs do not parse the input or omit an
 * empty input. `fields` are the names that an error message lists.
 */
export function readInput(
  input: unknown,
  fields: readonly string[],
): { readonly value: ToolInput } | ToolResult {
  const value = typeof input === 'string' ? parseJson(input) : (input ?? {})
  if (isRecord(value)) return { value }
  return toolFailure(`the input is ${show(input)}; it must be a JSON object; ${listFields(fields)}`)
}

function show(input: unknown): string {
  if (typeof input !== 'string' && !Array.isArray(input)) return `a ${typeof input}`
  return typeof input === 'string' ? shorten(input, MAX_SHOWN) : showValue(input, MAX_SHOWN)
}

/** The fields that a tool accepts. */
export interface AcceptedFields {
  readonly properties: Readonly<Record<string, ToolInputField>>
  readonly needs: Readonly<Record<string, string | undefined>> | undefined
  readonly aliases: Readonly<Record<string, string>>
}

/**
 * Reads the fields of an input. An object may also be JSON text, and a list may contain numbers. Returns an error for the
 * model for an unknown field, a wrong value, and a missing or empty field that is needed.
 */
export function readFields(
  input: ToolInput,
  { properties, needs = {}, aliases }: AcceptedFields,
): { readonly values: ToolInput } | ToolResult {
  const known = Object.keys(properties)
  const unknown = Object.keys(input).filter(key => !known.includes(key) && !Object.hasOwn(aliases, key))
  if (unknown.length > 0) return toolFailure(`there is no field ${quoteAll(unknown)}; ${listFields(known)}`)
  const values: Record<string, unknown> = {}
  for (const [name, { type }] of Object.entries(properties)) {
    const names = [name, ...Object.keys(aliases).filter(alias => aliases[alias] === name)]
    const key = names.find(each => Object.hasOwn(input, each)) ?? name
    const value = Object.hasOwn(input, key) ? (input[key] ?? undefined) : undefined
    if (value === undefined) continue
    const parsed = type === 'object' && typeof value === 'string' ? parseJson(value) : value
    const { isRight, needed } = TYPES[type]
    if (!isRight(parsed)) return toolFailure(`"${key}" is ${showValue(value)}; it must be ${needed}`)
    values[name] = parsed
  }
  if (Object.keys(needs).every(name => (values[name] ?? '') !== '')) return { values }
  return toolFailure(describeNeeds(needs))
}

const TYPES: Readonly<
  Record<ToolInputField['type'], { readonly isRight: (value: unknown) => boolean; readonly needed: string }>
> = {
  string: { isRight: value => typeof value === 'string', needed: 'text' },
  integer: {
    isRight: value => Number.isInteger(value) && (value as number) >= 0,
    needed: 'a whole number from 0',
  },
  object: { isRight: isRecord, needed: 'an object, for example {}' },
  array: {
    isRight: value =>
      Array.isArray(value) && value.every(each => typeof each === 'string' || typeof each === 'number'),
    needed: 'a list of texts',
  },
}

function describeNeeds(needs: Readonly<Record<string, string | undefined>>): string {
  const names = Object.keys(needs).map(name => `"${name}"`)
  const example = Object.entries(needs).map(([name, value]) => `"${name}": ${showValue(value)}`)
  return `${names.join(' and ')} ${names.length === 1 ? 'is' : 'are'} needed, for example {${example.join(', ')}}`
}

/** Describes the fields that an input may have. */
export function listFields(known: readonly string[]): string {
  return known.length === 0 ? 'there are no fields' : `the fields are ${quoteAll(known)}`
}

/** Parses JSON. Returns `undefined` for invalid JSON, and an empty object for an empty text. */
function parseJson(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    return undefined // the caller explains what is needed
  }
}
