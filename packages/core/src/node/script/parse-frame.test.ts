import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Lines } from './child/lines.ts'
import { parseFrame } from './parse-frame.ts'
import { createRedaction } from './redact.ts'

const redaction = createRedaction({ TOKEN: 'SUPERSECRETTOKEN' })
const KINDS = [
  'ready',
  'loading',
  'begun',
  'loaded',
  'failed',
  'result',
  'refused',
  'error',
  'too-large',
  'progress',
  'scratch',
  'log',
] as const

describe('parseFrame()', () => {
  test('takes whatever a script may write, and never throws', () => {
    const fields = ['commands', 'path', 'message', 'stack', 'value', 'faults', 'bytes', 'done', 'total', 'id']
    const frame = fc
      .tuple(fc.constantFrom(...KINDS), fc.dictionary(fc.constantFrom(...fields), fc.jsonValue()))
      .map(([kind, rest]) => JSON.stringify({ ...rest, kind }))
    fc.assert(
      fc.property(fc.oneof(frame, fc.string(), fc.json()), line => {
        const parsed = parseFrame(line, redaction)
        expect(parsed === undefined || KINDS.includes(parsed.kind)).toBe(true)
      }),
    )
  })

  test('text that is an object is no text', () => {
    expect(parseFrame('{"kind":"log","id":1,"message":{"toString":1,"valueOf":1}}', redaction)).toEqual({
      kind: 'log',
      id: 1,
      message: '',
    })
  })

  test.each([257, 3_000, 200_000])('a value of %d levels is a failure, and no end of our stack', levels => {
    const deep = `${'['.repeat(levels)}${']'.repeat(levels)}`
    expect(parseFrame(`{"kind":"result","id":7,"value":${deep}}`, redaction)).toMatchObject({
      kind: 'error',
      id: 7,
      message: 'what it sent is nested more than 256 levels deep',
    })
    expect(parseFrame(`{"kind":"loaded","commands":${deep}}`, redaction)).toMatchObject({ kind: 'failed' })
  })

  test('takes secrets out before it cuts', () => {
    const message = `${'x'.repeat(8_180)}SUPERSECRETTOKEN`
    const frame = parseFrame(JSON.stringify({ kind: 'error', id: 1, message, stack: message }), redaction)
    expect(JSON.stringify(frame)).not.toContain('SUPER')
  })
})

test('lines are the same however they come in pieces, and only a line feed ends one', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', '\n', '\u2028', '\r') }), fc.nat(5), (text, step) => {
      const lines = new Lines()
      const found: string[] = []
      for (let at = 0; at < text.length; at += step + 1)
        found.push(...lines.take(text.slice(at, at + step + 1)))
      const expected = text.split('\n')
      expect(lines.pending).toBe(expected.pop()?.length)
      expect(found).toEqual(expected)
    }),
  )
})
