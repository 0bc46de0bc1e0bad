import type { ChildFrame, CommandFrame, InputFaults } from './child/frames.ts'
import type { Redaction } from './redact.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * One line of what the process of a script sent, without secrets. Somebody's script runs there and can write to the channel,
 * too: what has not the form of a frame is `undefined`, and what nobody could walk through is a failure.
 */
export function parseFrame(line: string, redaction: Redaction): ChildFrame | undefined {
  const fields = parseFields(line)
  if (fields === undefined) return undefined
  const { kind } = fields
  const id = typeof fields['id'] === 'number' ? fields['id'] : -1
  if (isDeeper(fields, MAX_DEPTH)) {
    const failure = { message: `what it sent is nested more than ${MAX_DEPTH} levels deep`, stack: '' }
    return kind === 'loaded' ? { kind: 'failed', path: '', ...failure } : { kind: 'error', id, ...failure }
  }
  const textOf: TextOf = value => (typeof value === 'string' ? redaction.text(value).slice(0, MAX_TEXT) : '')
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
          .map(each => toCommand(each, redaction)),
      }
    case 'failed':
      return {
        kind,
        path: textOf(fields['path']),
        message: textOf(fields['message']),
        stack: textOf(fields['stack']),
      }
    case 'result':
      return 'value' in fields ? { kind, id, value: redaction.value(fields['value']) } : { kind, id }
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
    return undefined // no JSON, so not from us
  }
}

type TextOf = (value: unknown) => string

/** Whether a value has more levels than that; never walks further. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some(each => isDeeper(each, levels - 1))
}

/** Its name and path stay as they are: they are compared with what the host knows, and not shown before. */
function toCommand(fields: Fields, redaction: Redaction): CommandFrame {
  const { name, path, description, hints, inputSchema } = fields
  return {
    name,
    description: redaction.value(description),
    hints: redaction.value(hints),
    inputSchema: redaction.value(inputSchema),
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

// Of an error nobody reads more.
const MAX_TEXT = 8_192
const MAX_FAULTS = 50
// Whoever gets a value walks through it, and has a stack with an end.
const MAX_DEPTH = 256

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
