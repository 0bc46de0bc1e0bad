import { quoteAll, shorten, showValue } from '../quote.ts'
import { type ToolResult, toolFailure } from './tool-definition.ts'

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
  if (isObject(value)) return { value }
  return toolFailure(`the input is ${show(input)}; it must be a JSON object; ${listFields(fields)}`)
}

function show(input: unknown): string {
  if (typeof input !== 'string' && !Array.isArray(input)) return `a ${typeof input}`
  return typeof input === 'string' ? shorten(input, MAX_SHOWN) : showValue(input, MAX_SHOWN)
}

/**
 * Reads a text field of an input. `keys` are the names that the field may have. Returns an error for the model if the
 * value is not a text.
 */
export function readTextField(
  input: ToolInput,
  ...keys: readonly [string, ...string[]]
): { readonly value: string | undefined } | ToolResult {
  const key = keys.find(each => Object.hasOwn(input, each)) ?? keys[0]
  const value = Object.hasOwn(input, key) ? input[key] : undefined
  if (value === undefined || value === null) return { value: undefined }
  if (typeof value === 'string') return { value }
  return toolFailure(`"${key}" is ${showValue(value)}; it must be text`)
}

/** Reads an object field, which a model may have sent as JSON text. Returns an empty object if the field is absent. */
export function readObjectField(input: ToolInput, key: string): { readonly value: ToolInput } | ToolResult {
  const value = input[key] ?? {}
  const parsed = typeof value === 'string' ? parseJson(value) : value
  if (isObject(parsed)) return { value: parsed }
  return toolFailure(`"${key}" is ${showValue(value)}; it must be an object, for example {}`)
}

/** Returns an error for the model that names the unknown fields of an input; `undefined` if all fields are known. */
export function findUnknownFields(
  input: ToolInput,
  known: readonly string[],
  aliases: readonly string[],
): ToolResult | undefined {
  const unknown = Object.keys(input).filter(key => !known.includes(key) && !aliases.includes(key))
  if (unknown.length === 0) return undefined
  return toolFailure(`${describeUnknownFields(unknown)}; ${listFields(known)}`)
}

/** Describes the unknown fields of an input. */
export function describeUnknownFields(unknown: readonly string[]): string {
  return `there is no field ${quoteAll(unknown)}`
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

function isObject(value: unknown): value is ToolInput {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
