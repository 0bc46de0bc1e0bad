import type { StandardSchema } from '@skillstoke/core/command'
import type { InputFaults } from './frames.ts'

/** The input that the command receives, or the faults of an invalid input. */
export type CheckedInput = { readonly value: unknown } | { readonly faults: InputFaults }

type Fields = Readonly<Record<string, unknown>>

interface SchemaError {
  readonly instanceLocation: string
  readonly keyword: string
  readonly error: string
}

interface Validator {
  validate(value: unknown): { readonly valid: boolean; readonly errors: readonly SchemaError[] }
}

/** Checks an input against a Standard Schema. The schema may transform the input. */
export async function checkByStandardSchema(schema: StandardSchema, input: unknown): Promise<CheckedInput> {
  const result = (await schema['~standard'].validate(input)) as {
    readonly value?: unknown
    readonly issues?: readonly {
      readonly message: string
      readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[]
    }[]
  }
  if (result.issues === undefined) return { value: result.value }
  const missing: string[] = []
  const wrong: { field: string; message: string }[] = []
  for (const { message, path = [] } of result.issues) {
    const keys = path.map(part => (typeof part === 'object' ? part.key : part))
    const field = keys.map(String).join('.')
    const value = keys.reduce<unknown>(
      (at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key],
      input,
    )
    if (keys.length === 1 && value === undefined) missing.push(field)
    else wrong.push({ field, message })
  }
  return { faults: { missing, unknown: [], wrong } }
}

/**
 * Returns a function that checks inputs against a JSON Schema of draft 2020-12. Loads the validator only when needed.
 */
export async function openJsonSchema(
  schema: Fields,
  validatorUrl: string,
): Promise<(input: unknown) => CheckedInput> {
  const { Validator } = (await import(validatorUrl)) as {
    Validator: new (schema: Fields, draft: '2020-12', shortCircuit: boolean) => Validator
  }
  const validator = new Validator(schema, '2020-12', false)
  return input => {
    const { valid, errors } = validator.validate(input)
    return valid ? { value: input } : { faults: toFaults(schema, input, errors) }
  }
}

function toFaults(schema: Fields, input: unknown, errors: readonly SchemaError[]): InputFaults {
  const given = isFields(input) ? Object.keys(input) : []
  const required = Array.isArray(schema['required']) ? schema['required'].map(String) : []
  const known = isFields(schema['properties']) ? Object.keys(schema['properties']) : []
  const isOpen = schema['additionalProperties'] !== false
  const missing = isFields(input) ? required.filter(name => !given.includes(name)) : []
  const unknown = isOpen ? [] : given.filter(name => !known.includes(name))
  const wrong = errors
    .filter(each => !isSummary(each))
    .map(({ instanceLocation, error }) => ({ field: toField(instanceLocation), message: toWords(error) }))
    .filter(({ field }) => !unknown.includes(field))
  return { missing, unknown, wrong: keepDeep(wrong, missing.length + unknown.length > 0) }
}

/**
 * Whether to drop an error because another message reports the same problem. The other message is about a nested value,
 * or lists missing or unknown fields.
 */
function isSummary({ keyword, instanceLocation }: SchemaError): boolean {
  const isTop = instanceLocation === '#'
  return SUMMARIES.includes(keyword) || (isTop && TOLD.includes(keyword))
}

const SUMMARIES = ['properties', 'items', 'allOf', '$ref', 'false']
const TOLD = ['additionalProperties', 'required']

/** Returns a short message for a validator error. */
function toWords(error: string): string {
  return error
    .replace(/^Instance type "(.*?)" is invalid\. Expected "(.*)"\.$/, 'it is of type "$1" and must be "$2"')
    .replace(/^Instance does not have/, 'it does not have')
    .replace(/^Property (".*") does not match additional properties schema\.$/, 'its field $1 is not allowed')
    .replace(/\.$/, '')
}

/** Drops messages about the whole input if other messages name fields of the input. */
function keepDeep<Fault extends { readonly field: string }>(
  wrong: readonly Fault[],
  isTold: boolean,
): readonly Fault[] {
  const deep = wrong.filter(each => each.field !== '')
  return deep.length > 0 || isTold ? deep : wrong.slice(0, 1)
}

/** Converts a JSON pointer such as `#/a/0/b` to `a.0.b`. */
function toField(location: string): string {
  return location
    .replace(/^#\/?/, '')
    .split('/')
    .map(part => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.')
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
