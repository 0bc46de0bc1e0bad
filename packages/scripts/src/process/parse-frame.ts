import { defined } from '@skillstoke/core/internal'
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
  const bytes = Buffer.byteLength(line)
  if (kind === 'result' && bytes > maxBytes + MAX_ENVELOPE)
    return { kind: 'too-large', id: idOf(fields['id']), bytes }
  if (typeof kind !== 'string' || !Object.hasOwn(FRAMES, kind)) return undefined
  const clean: Clean = text => redaction.text(withoutControls(text, { keepsLineEnds: true }))
  const read = Object.entries<Read>(FRAMES[kind as ChildFrame['kind']]).map(
    ([name, readField]) => [name, readField(fields[name], clean)] as const,
  )
  return { kind, ...defined(Object.fromEntries(read)) } as ChildFrame
}

type Clean = (text: string) => string
/** Reads one field of a frame. The process may have sent any value. */
type Read = (value: unknown, clean: Clean) => unknown

const textOf = (value: unknown, clean: Clean): string =>
  typeof value === 'string' ? clean(value).slice(0, MAX_TEXT) : ''
const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0)
const idOf = (value: unknown): number => (typeof value === 'number' ? value : -1)

/** The fields of each kind of frame. */
const FRAMES = {
  ready: {},
  loading: { path: textOf },
  loaded: {
    commands: (value, clean) =>
      listOf(value)
        .filter(isFields)
        .map(each => toCommand(each, clean)),
  },
  failed: { path: textOf, message: textOf, stack: textOf },
  begun: { id: idOf },
  result: { id: idOf, value: mapTexts },
  refused: { id: idOf, faults: toFaults },
  error: { id: idOf, message: textOf, stack: textOf },
  'too-large': { id: idOf, bytes: numberOf },
  progress: {
    id: idOf,
    done: numberOf,
    total: value => (typeof value === 'number' ? value : undefined),
    message: (value, clean) => (typeof value === 'string' ? textOf(value, clean) : undefined),
  },
  log: { id: idOf, message: textOf },
} satisfies Record<ChildFrame['kind'], Readonly<Record<string, Read>>>

function parseFields(line: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isFields(value) ? value : undefined
  } catch {
    return undefined // not JSON, so not from our code
  }
}

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
function toCommand(fields: Fields, clean: Clean): CommandFrame {
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

function toFaults(value: unknown, clean: Clean): InputFaults {
  const fields = isFields(value) ? value : {}
  const few = (name: string): readonly unknown[] => listOf(fields[name]).slice(0, MAX_FAULTS)
  return {
    missing: few('missing').map(each => textOf(each, clean)),
    unknown: few('unknown').map(each => textOf(each, clean)),
    wrong: few('wrong')
      .filter(isFields)
      .map(({ field, message }) => ({ field: textOf(field, clean), message: textOf(message, clean) })),
  }
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

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
