import { quote } from '../quote.ts'

/** The value that a deciding field gets if the value in the file cannot be parsed. */
export interface ClosedField {
  /** The strictest value that the field can have. */
  readonly value: unknown
  /** What the strictest value means, as the end of a sentence. */
  readonly meaning: string
  /** The field with its strictest value, as a line of YAML. */
  readonly line: string
}

/**
 * The deciding fields, which control what a skill, a model or a user may do. Each key is the path of a field, in lower
 * case. A deciding field whose value is not valid YAML gets its strictest value instead of plain text. Other fields are
 * safe as plain text. For example, a `hooks` field that was read as text starts no program.
 */
const CLOSED_FIELDS: ReadonlyMap<string, ClosedField> = new Map<string, ClosedField>([
  ['allowed-tools', { value: '', meaning: 'no tool is allowed', line: 'allowed-tools: ""' }],
  ['disallowed-tools', { value: '*', meaning: 'every tool is disallowed', line: 'disallowed-tools: "*"' }],
  [
    'disable-model-invocation',
    { value: true, meaning: 'it counts as true', line: 'disable-model-invocation: true' },
  ],
  ['user-invocable', { value: false, meaning: 'it counts as false', line: 'user-invocable: false' }],
  ['metadata', { value: null, meaning: 'the skill has no metadata', line: 'metadata:' }],
  ['metadata.capabilities', { value: '', meaning: 'no capability is asked for', line: 'capabilities: ""' }],
])

/** Returns the strictest value of a deciding field, or `undefined` for any other field. */
export function findClosedField(path: string): ClosedField | undefined {
  return CLOSED_FIELDS.get(path.toLowerCase())
}

/**
 * Returns the advice about an unclear deciding field. The advice keeps the strictest value, because a person may follow
 * it without thinking about who then sees the skill or what the skill may then do.
 */
export function adviseClosed({ line }: ClosedField): string {
  return `to keep it so, write ${quote(line).replaceAll('\\"', "'")} once, on a line of its own`
}

/** Returns the advice about a field that the specification does not define. */
export function adviseUnknown(key: string): string {
  return findClosedField(key) === undefined
    ? 'keep it if a client reads it; put fields of your own under "metadata"'
    : 'keep it; without it, other people or models could see the skill, or the skill could do more'
}

// Without a deciding field everything is allowed, so a line that looks like a deciding field must not be ignored.
const LOOKS_DECIDING =
  /^\s*["']?(allowed-tools|disallowed-tools|disable-model-invocation|user-invocable)(?![\w-])/i

/** Returns the deciding key at the start of a line, in lower case, regardless of the rest of the line. */
export function findDecidingKey(line: string): string | undefined {
  return LOOKS_DECIDING.exec(line)?.[1]?.toLowerCase()
}
