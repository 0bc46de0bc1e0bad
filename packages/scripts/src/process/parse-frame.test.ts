import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Lines } from '../child/lines.ts'
import { parseFrame } from './parse-frame.ts'
import { createRedaction } from './redact.ts'

const redaction = createRedaction({ TOKEN: 'SUPERSECRETTOKEN' })
const rules = { redaction, maxBytes: 1_000_000 }
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
  'log',
] as const

describe('parseFrame()', () => {
  test('parseFrame() never throws, whatever a script sends', () => {
    const fields = ['commands', 'path', 'message', 'stack', 'value', 'faults', 'bytes', 'done', 'total', 'id']
    const frame = fc
      .tuple(fc.constantFrom(...KINDS), fc.dictionary(fc.constantFrom(...fields), fc.jsonValue()))
      .map(([kind, rest]) => JSON.stringify({ ...rest, kind }))
    fc.assert(
      fc.property(fc.oneof(frame, fc.string(), fc.json()), line => {
        const parsed = parseFrame(line, rules)
        expect(parsed === undefined || KINDS.includes(parsed.kind)).toBe(true)
      }),
    )
  })

  test('parseFrame() returns an empty text for a field if the script sent an object instead of a text', () => {
    expect(parseFrame('{"kind":"log","id":1,"message":{"toString":1,"valueOf":1}}', rules)).toEqual({
      kind: 'log',
      id: 1,
      message: '',
    })
  })

  test.each([257, 3_000, 200_000])(
    'parseFrame() returns a failure for a value that is nested %d levels deep, and does not overflow the stack',
    levels => {
      const deep = `${'['.repeat(levels)}${']'.repeat(levels)}`
      expect(parseFrame(`{"kind":"result","id":7,"value":${deep}}`, rules)).toMatchObject({
        kind: 'error',
        id: 7,
        message: 'the script sent data that is nested more than 256 levels deep',
      })
      expect(parseFrame(`{"kind":"loaded","commands":${deep}}`, rules)).toMatchObject({ kind: 'failed' })
    },
  )

  test('parseFrame() reports a result above the size limit as too large, even if the script process sent it as a normal result', () => {
    const line = JSON.stringify({ kind: 'result', id: 7, value: 'x'.repeat(2_000) })
    expect(parseFrame(line, rules)).toMatchObject({ kind: 'result' })
    expect(parseFrame(line, { redaction, maxBytes: 1_000 })).toEqual({
      kind: 'too-large',
      id: 7,
      bytes: 2_035,
    })
  })

  test('parseFrame() returns a failure for a result with too many values', () => {
    const many = (count: number): string =>
      JSON.stringify({ kind: 'result', id: 7, value: Array.from({ length: count }, () => []) })
    expect(parseFrame(many(99_990), rules)).toMatchObject({ kind: 'result' })
    expect(parseFrame(many(100_001), rules)).toMatchObject({
      kind: 'error',
      id: 7,
      message: 'the script sent data that has more than 100000 values',
    })
  })

  test.each([
    ['an object', (each: number) => `"key-${each}":1`, '{', '}'],
    ['a list', () => '{"a":1}', '[', ']'],
    ['nested lists', () => '[', '', ''],
  ])(
    'parseFrame() refuses %s of many megabytes in less time than its JSON takes to parse',
    (_, make, open, close) => {
      const wide = `${open}${Array.from({ length: 700_000 }, (_each, index) => make(index)).join(open === '' ? '' : ',')}${close}`
      const timeOf = (work: () => void): number => {
        const start = performance.now()
        work()
        return performance.now() - start
      }
      const line = `{"kind":"result","id":7,"value":${open === '' ? `${wide}${']'.repeat(700_000)}` : wide}}`
      const parsing = timeOf(() => JSON.parse(line))
      const refusing = timeOf(() => expect(parseFrame(line, rules)).toMatchObject({ kind: 'error', id: 7 }))
      expect(refusing).toBeLessThan(parsing)
    },
  )

  test('parseFrame() counts no character of a text as a value', () => {
    const value = ['"'.repeat(60_000), '\\'.repeat(60_001), '[{,'.repeat(60_000), '\\"[']
    const line = JSON.stringify({ kind: 'result', id: 7, value })
    expect(parseFrame(line, rules)).toEqual({ kind: 'result', id: 7, value })
  })

  test('parseFrame() removes escape sequences from results, progress, errors and log lines, but keeps line ends', () => {
    const text = 'a\u001b[31mred\u001b[0m\u009b2J\u0007\r\nb\rc\td'
    const clean = 'ared\r\nbc\td'
    const parse = (frame: object): unknown => parseFrame(JSON.stringify({ id: 1, ...frame }), rules)
    expect(parse({ kind: 'result', value: [{ [text]: text }] })).toMatchObject({
      value: [{ [clean]: clean }],
    })
    expect(parse({ kind: 'progress', done: 1, message: text })).toMatchObject({ message: clean })
    expect(parse({ kind: 'error', message: text, stack: text })).toMatchObject({
      message: clean,
      stack: clean,
    })
    expect(parse({ kind: 'log', message: text })).toMatchObject({ message: clean })
    expect(parse({ kind: 'loaded', commands: [{ description: text }] })).toMatchObject({
      commands: [{ description: clean }],
    })
  })

  test('parseFrame() removes secrets before it truncates a text', () => {
    const message = `${'x'.repeat(8_180)}SUPERSECRETTOKEN`
    const frame = parseFrame(JSON.stringify({ kind: 'error', id: 1, message, stack: message }), rules)
    expect(JSON.stringify(frame)).not.toContain('SUPER')
  })
})

test('the class Lines splits text only at line feeds, even if the text arrives in several chunks', () => {
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
