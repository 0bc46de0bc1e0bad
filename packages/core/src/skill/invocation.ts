import { quote, showValue } from '../quote.ts'
import { adviseClosed, findClosedField } from './deciding-fields.ts'
import type { Diagnostic } from './diagnostic.ts'
import type { Skill } from './skill.ts'

const FIELDS: ReadonlySet<string> = new Set(['disable-model-invocation', 'user-invocable'])
const TRUE = /^(?:true|yes|on)$/i
const FALSE = /^(?:false|no|off)$/i

/** A field that decides who may invoke a skill, and the finding about a value that is not a boolean. */
export interface InvocationField {
  readonly value: boolean
  readonly finding?: Pick<Diagnostic, 'code' | 'severity' | 'message'> & { readonly fix: string }
}

/**
 * Reads a field that decides who may invoke a skill. Accepts `yes`, `on`, `no`, `off` and booleans in quotes. Any other
 * value counts as the strictest value. Returns `undefined` for other fields, and for an empty value.
 */
export function readInvocationField(key: string, value: unknown): InvocationField | undefined {
  const closed = FIELDS.has(key) ? findClosedField(key) : undefined
  if (closed === undefined || value === null || value === undefined) return undefined
  if (typeof value === 'boolean') return { value }
  const text = typeof value === 'string' ? value.trim() : ''
  const meant = TRUE.test(text) ? true : FALSE.test(text) ? false : undefined
  const shown = `the value of ${quote(key)}, ${showValue(value, 60)},`
  if (meant === undefined) {
    const message = `${shown} is neither true nor false, so ${closed.meaning}`
    const fix = adviseClosed(closed)
    return {
      value: closed.value === true,
      finding: { code: 'FIELD_TYPE', severity: 'warning', message, fix },
    }
  }
  const message = `${shown} is text and counts as ${meant}; other clients may ignore it`
  const fix = `to keep it so, write "${key}: ${meant}" once, on a line of its own`
  return { value: meant, finding: { code: 'BOOLEAN_AS_TEXT', severity: 'warning', message, fix } }
}

/** Returns whether a person may invoke the skill, for example with a slash command or an MCP prompt. */
export function isUserInvocable({ extra }: Pick<Skill, 'extra'>): boolean {
  return extra['user-invocable'] !== false
}

/**
 * Returns whether a model may find and load the skill by itself. If not, the skill is in no catalog and no list of the
 * skill tool, and enters a conversation only when a person invokes it.
 */
export function isModelInvocable({ extra }: Pick<Skill, 'extra'>): boolean {
  return extra['disable-model-invocation'] !== true
}
