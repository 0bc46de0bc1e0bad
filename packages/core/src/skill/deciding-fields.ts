/** The reading of a deciding field whose value cannot be parsed. */
export interface ClosedField {
  /** The strictest value that the field can have. */
  readonly value: unknown
  /** What that value means, as the end of a sentence. */
  readonly meaning: string
}

/**
 * The fields that decide what a skill, a model or a user may do, by their path in lower case. If the value of such a field
 * is not valid YAML, the field gets its strictest value instead of plain text. Other fields decide nothing here: reading
 * `hooks` or `model` as text starts nothing.
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

// Without these fields everything is allowed, so a line that looks like one of them must not be ignored.
const LOOKS_DECIDING = /^\s*["']?(allowed-tools|disable-model-invocation|user-invocable)(?![\w-])/i

/** Returns the deciding key at the start of a line, in lower case, regardless of the rest of the line. */
export function findDecidingKey(line: string): string | undefined {
  return LOOKS_DECIDING.exec(line)?.[1]?.toLowerCase()
}
