/** What a field means that decides something and cannot be read. */
export interface ClosedField {
  /** The strictest value that the field can have. */
  readonly value: unknown
  /** What that value means, as the end of a sentence. */
  readonly meaning: string
}

/**
 * The fields that decide what a skill, a model or a user may do, by their path in lower case. Such a field is never read
 * as plain text: if its value is not valid YAML, it gets its strictest value. Other fields decide nothing here: `hooks` or
 * `model` read as text start nothing.
 */
const CLOSED_FIELDS: ReadonlyMap<string, ClosedField> = new Map<string, ClosedField>([
  ['allowed-tools', { value: '', meaning: 'no tool is allowed' }],
  ['disable-model-invocation', { value: true, meaning: 'it counts as true' }],
  ['user-invocable', { value: false, meaning: 'it counts as false' }],
  ['metadata', { value: null, meaning: 'the skill has no metadata' }],
  ['metadata.capabilities', { value: '', meaning: 'no capability is asked for' }],
])

/** Returns the strictest reading of a field, or `undefined` if the field decides nothing. */
export function findClosedField(path: string): ClosedField | undefined {
  return CLOSED_FIELDS.get(path.toLowerCase())
}

// Absence of these is the most permissive reading, so a line that looks like one of them must not get lost.
const LOOKS_DECIDING = /^\s*["']?(allowed-tools|disable-model-invocation|user-invocable)(?![\w-])/i

/** Returns the key of the deciding field that a line begins with, in lower case, whatever follows it. */
export function findDecidingKey(line: string): string | undefined {
  return LOOKS_DECIDING.exec(line)?.[1]?.toLowerCase()
}
