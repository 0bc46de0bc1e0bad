import type { ChildFrame, CommandFrame, InputFaults } from '../child/frames.ts'
import { mapTexts, type Redaction } from './redact.ts'
import { withoutControls } from './without-controls.ts'

type Fields = Readonly<Record<string, unknown>>

export interface FrameRules {
  readonly redaction: Redaction
  /** Maximum size of a result, in bytes of JSON. */
  readonly maxBytes: number
}

/**
 * Parses one line from a script process, and removes secrets and escape sequences. The line is not trusted, because a script can write to the channel of its process. If a line is not a frame, returns `undefined`. If a value exceeds the limits, returns a failure.
 */
export function parseFrame(line: string, { redaction, maxBytes }: FrameRules): ChildFrame | undefined {
  const fields = parseFields(line)
  if (fields === undefined) return undefined
  const { kind } = fields
  const id = typeof fields['id'] === 'number' ? fields['id'] : -1
  const excess = findExcess(fields)
  if (excess !== undefined) {
    const failure = { message: `the script sent data that ${excess}`, stack: '' }
    return kind === 'loaded' ? { kind: 'failed', path: '', ...failure } : { kind: 'error', id, ...failure }
  }
  const bytes = Buffer.byteLength(line)
  if (kind === 'result' && bytes > maxBytes + MAX_ENVELOPE) return { kind: 'too-large', id, bytes }
  const clean = (text: string): string => redaction.text(withoutControls(text, { keepsLineEnds: true }))
  const textOf: TextOf = value => (typeof value === 'string' ? clean(value).slice(0, MAX_TEXT) : '')
  switch (kind) {
    case 'ready':
      return { kind }
    case 'loading':
      return { kind, path: textOf(fields['path']) }
    case 'loaded':
      return {
        kind,
        commands: listOf(fields['commands'])
          .filter(isFields)
          .map(each => toCommand(each, clean)),
      }
    case 'failed':
      return {
        kind,
        path: textOf(fields['path']),
        message: textOf(fields['message']),
        stack: textOf(fields['stack']),
      }
    case 'result':
      return 'value' in fields ? { kind, id, value: mapTexts(fields['value'], clean) } : { kind, id }
    case 'refused':
      return { kind, id, faults: toFaults(fields['faults'], textOf) }
    case 'error':
      return { kind, id, message: textOf(fields['message']), stack: textOf(fields['stack']) }
    case 'too-large':
      return { kind, id, bytes: numberOf(fields['bytes']) }
    case 'progress': {
      const { total, message } = fields
      return {
        kind,
        id,
        done: numberOf(fields['done']),
        ...(typeof total === 'number' ? { total } : {}),
        ...(typeof message === 'string' ? { message: textOf(message) } : {}),
      }
    }
    case 'begun':
      return { kind, id }
    case 'log':
      return { kind, id, message: textOf(fields['message']) }
    default:
      return undefined
  }
}

function parseFields(line: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isFields(value) ? value : undefined
  } catch {
    return undefined // not JSON, so not from our code
  }
}

type TextOf = (value: unknown) => string

/**
 * Describes how a value exceeds the limits for depth or size. Returns `undefined` if the value is within the limits.
 * Stops at the limits.
 */
function findExcess(value: unknown): string | undefined {
  let left = MAX_VALUES
  const isDeeper = (each: unknown, levels: number): boolean => {
    if (--left < 0 || typeof each !== 'object' || each === null) return false
    return levels === 0 || Object.values(each).some(inner => isDeeper(inner, levels - 1))
  }
  if (isDeeper(value, MAX_DEPTH)) return `is nested more than ${MAX_DEPTH} levels deep`
  return left < 0 ? `has more than ${MAX_VALUES} values` : undefined
}

/** Does not redact `name` and `path`, because the host shows them only if they equal known values. */
function toCommand(fields: Fields, clean: (text: string) => string): CommandFrame {
  const { name, path, description, hints, inputSchema } = fields
  return {
    name,
    description: mapTexts(description, clean),
    hints: mapTexts(hints, clean),
    inputSchema: mapTexts(inputSchema, clean),
    isDynamic: fields['isDynamic'] === true,
    path: typeof path === 'string' ? path : '',
  }
}

function toFaults(value: unknown, textOf: TextOf): InputFaults {
  const fields = isFields(value) ? value : {}
  return {
    missing: listOf(fields['missing']).slice(0, MAX_FAULTS).map(textOf),
    unknown: listOf(fields['unknown']).slice(0, MAX_FAULTS).map(textOf),
    wrong: listOf(fields['wrong'])
      .slice(0, MAX_FAULTS)
      .filter(isFields)
      .map(({ field, message }) => ({ field: textOf(field), message: textOf(message) })),
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

// Maximum length of an error text. Longer texts are truncated.
const MAX_TEXT = 8_192
const MAX_FAULTS = 50
// Limits for the depth and size of values, because callers copy values recursively.
const MAX_DEPTH = 256
const MAX_VALUES = 100_000
/** Maximum number of bytes that a result line contains in addition to the value. */
const MAX_ENVELOPE = 256

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
