/** The value that a deciding field gets if the value in the file cannot be parsed. */
export interface ClosedField {
  /** The strictest value that the field can have. */
  readonly value: unknown
  /** What the strictest value means, as the end of a sentence. */
  readonly meaning: string
}

/**
 * The deciding fields, which control what a skill, a model or a user may do. Each key is the path of a field, in lower
 * case. A deciding field whose value is not valid YAML gets its strictest value instead of plain text. Other fields are
 * safe as plain text. For example, a `hooks` field that was read as text starts no program.
 */
const CLOSED_FIELDS: ReadonlyMap<string, ClosedField> = new Map<string, ClosedField>([
  ['allowed-tools', { value: '', meaning: 'no tool is allowed' }],
  ['disallowed-tools', { value: '*', meaning: 'every tool is disallowed' }],
  ['disable-model-invocation', { value: true, meaning: 'it counts as true' }],
  ['user-invocable', { value: false, meaning: 'it counts as false' }],
  ['metadata', { value: null, meaning: 'the skill has no metadata' }],
  ['metadata.capabilities', { value: '', meaning: 'no capability is asked for' }],
])

/** Returns the strictest value of a deciding field, or `undefined` for any other field. */
export function findClosedField(path: string): ClosedField | undefined {
  return CLOSED_FIELDS.get(path.toLowerCase())
}

// Without a deciding field everything is allowed, so a line that looks like a deciding field must not be ignored.
const LOOKS_DECIDING =
  /^\s*["']?(allowed-tools|disallowed-tools|disable-model-invocation|user-invocable)(?![\w-])/i

/** Returns the deciding key at the start of a line, in lower case, regardless of the rest of the line. */
export function findDecidingKey(line: string): string | undefined {
  return LOOKS_DECIDING.exec(line)?.[1]?.toLowerCase()
}
