import type { ChildFrame, CommandFrame, InputFaults } from './child/frames.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * One line of what the process of a script sent. Somebody's script runs there and can write to the channel, too: what has
 * not the form of a frame is `undefined`.
 */
export function parseFrame(line: string): ChildFrame | undefined {
  const fields = parseFields(line)
  if (fields === undefined) return undefined
  const { kind } = fields
  const id = typeof fields['id'] === 'number' ? fields['id'] : -1
  switch (kind) {
    case 'ready':
      return { kind }
    case 'loaded':
      return { kind, commands: listOf(fields['commands']).filter(isFields).map(toCommand) }
    case 'failed':
      return {
        kind,
        path: textOf(fields['path']),
        message: textOf(fields['message']),
        stack: textOf(fields['stack']),
      }
    case 'result':
      return 'value' in fields ? { kind, id, value: fields['value'] } : { kind, id }
    case 'refused':
      return { kind, id, faults: toFaults(fields['faults']) }
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
        ...(typeof message === 'string' ? { message } : {}),
      }
    }
    case 'scratch':
      return { kind, id }
    case 'log':
      return { kind, id, message: String(fields['message']) }
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

function toCommand(fields: Fields): CommandFrame {
  const { name, description, hints, inputSchema } = fields
  return {
    name,
    description,
    hints,
    inputSchema,
    isDynamic: fields['isDynamic'] === true,
    path: textOf(fields['path']),
  }
}

function toFaults(value: unknown): InputFaults {
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

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT) : ''
}

// Of an error nobody reads more.
const MAX_TEXT = 8_192
const MAX_FAULTS = 50

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
