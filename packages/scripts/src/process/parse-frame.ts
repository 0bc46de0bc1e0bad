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
 * Parses one line from a script process, and removes secrets and escape sequences. The line is not trusted, because a
 * script can write to the channel of its process. If a line is not a frame, returns `undefined`. If a value exceeds the
 * limits, returns a failure.
 */
export function parseFrame(line: string, { redaction, maxBytes }: FrameRules): ChildFrame | undefined {
  const excess = findExcess(line)
  if (excess !== undefined) return toRefused(line, `the script sent data that ${excess}`)
  const fields = parseFields(line)
  if (fields === undefined) return undefined
  const { kind } = fields
  const id = typeof fields['id'] === 'number' ? fields['id'] : -1
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
 * Describes how the JSON text of a frame exceeds the limits for depth or number of values. Returns `undefined` if the
 * text is within the limits. Reads only the text and stops at the limits, because parsing a wide object takes seconds.
 */
function findExcess(line: string): string | undefined {
  let depth = 0
  let values = 1
  for (let at = 0; at < line.length; at++) {
    const letter = line[at]
    if (letter === '"') at = findEndOfString(line, at)
    else if (letter === '{' || letter === '[') {
      if (++depth > MAX_DEPTH) return `is nested more than ${MAX_DEPTH} levels deep`
      const isEmpty = line[at + 1] === (letter === '{' ? '}' : ']')
      if (!isEmpty) values++
    } else if (letter === '}' || letter === ']') depth--
    else if (letter === ',') values++
    if (values > MAX_VALUES) return `has more than ${MAX_VALUES} values`
  }
  return undefined
}

/** Returns the index of the quote that ends the string, or of the last character if no quote ends it. */
function findEndOfString(line: string, start: number): number {
  for (let end = line.indexOf('"', start + 1); end !== -1; end = line.indexOf('"', end + 1)) {
    let escapes = 0
    while (line[end - 1 - escapes] === '\\') escapes++
    if (escapes % 2 === 0) return end
  }
  return line.length - 1
}

/** Our code begins each frame with `kind` and `id`. A line with another beginning was written by a script. */
function toRefused(line: string, message: string): ChildFrame | undefined {
  const [, kind, id] = /^\{"kind":"([a-z-]+)"(?:,"id":(\d+))?/.exec(line) ?? []
  if (kind === 'loaded') return { kind: 'failed', path: '', message, stack: '' }
  return id === undefined ? undefined : { kind: 'error', id: Number(id), message, stack: '' }
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
