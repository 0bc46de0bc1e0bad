import { SkillError } from '@skillstoke/core'
import { showValue } from '@skillstoke/core/internal'
import type { UserContent } from 'ai'
import type { CallAnswer } from './pending-calls.ts'

export interface TurnOptions {
  /**
   * When this signal aborts, the turn ends. The conversation keeps the complete messages, and the text of the answer so
   * far. A message after this text tells the model that the user stopped the answer.
   */
  readonly signal?: AbortSignal
}

/** What starts a turn. */
export type TurnInput =
  /** A message of the user. A message that begins with `/` and the name of a skill invokes this skill. */
  | string
  /** A message with attachments, as content parts of the AI SDK. Bytes are stored as base64 text. */
  | Exclude<UserContent, string>
  /**
   * Answers to all calls in `pending`. The approved calls run, and their results are stored before the next request to
   * the model. If you abort the turn before, the calls wait again.
   */
  | { readonly answers: readonly CallAnswer[] }
  /**
   * Continues after a failed or stopped turn without repeating the question, which is already in the conversation. Takes
   * the text of a stopped answer back, and keeps the results of its tools.
   */
  | { readonly retry: true }
  /** Answers the last question again. Takes back its answer, and what the conversation learned since the question. */
  | { readonly again: true }

/** @throws {SkillError} INVALID_OPTION for an input without a message, because providers refuse an empty message */
export function checkInput(input: TurnInput): void {
  if (typeof input === 'string' ? input.trim() !== '' : Array.isArray(input) && input.length > 0) return
  const isEmpty = typeof input === 'string' || Array.isArray(input)
  if (isEmpty) throw new SkillError('INVALID_OPTION', 'the message is empty; send a text or content parts')
  const { answers, retry, again } = input as Readonly<Partial<Record<'answers' | 'retry' | 'again', unknown>>>
  if (Array.isArray(answers) || retry === true || again === true) return
  throw new SkillError(
    'INVALID_OPTION',
    `the input is ${showValue(input)}; use a text, content parts, { answers: [...] }, { retry: true } or { again: true }`,
  )
}

/** Returns a copy of a value in which bytes are base64 text and addresses are text, so that a store can keep it as JSON. */
export function toStorable<Value>(value: Value): Value {
  return replaceBinary(value) as Value
}

function replaceBinary(value: unknown): unknown {
  if (value instanceof URL) return value.href
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString('base64')
  if (ArrayBuffer.isView(value))
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')
  if (Array.isArray(value)) return value.map(replaceBinary)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, replaceBinary(entry)]))
}
