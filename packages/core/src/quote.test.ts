import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SkillError, toMessage } from './errors.ts'
import { escapeControls, limitMessage, quote, quoteAll, shorten, showValue } from './quote.ts'

const UNSAFE = /[[\p{Cc}--[\t\n]]\p{Bidi_Control}\u2028\u2029]/v
const HUGE = 'x'.repeat(900_000)
const CONTROLS = 'a\rb\u202ec\u0007d\u2066e\u2028f\u009bg'
const SHOWN = String.raw`a\rb\u202ec\u0007d\u2066e\u2028f\u009bg`

describe('quote()', () => {
  test('returns the text in quotation marks, without control characters and characters that reorder text', () => {
    expect(quote(CONTROLS)).toBe(`"${SHOWN}"`)
    expect(quote('a "b"\n')).toBe(String.raw`"a \"b\"\n"`)
    expect(quoteAll(['a', CONTROLS])).toBe(`"a", "${SHOWN}"`)
    expect(showValue({ a: CONTROLS })).toBe(`{"a":"${SHOWN}"}`)
  })

  test('cuts a long text', () => {
    expect(quote('abcdefgh', 6)).toBe('"abc..."')
    for (const shown of [quote(HUGE), showValue(HUGE), showValue([HUGE]), showValue({ [HUGE]: 1 })])
      expect(shown.length).toBeLessThan(700)
    expect(shorten('abc', 3)).toBe('abc')
  })

  test('lists at most fifty names', () => {
    const names = Array.from({ length: 60 }, (_, index) => `n${index}`)
    expect(quoteAll(names)).toMatch(/^"n0", .*"n49" and 10 more$/)
  })

  test('every result is a short line of printable text, and a short text can be read back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), text => {
        const quoted = quote(text)
        expect(quoted).not.toMatch(UNSAFE)
        expect(quoted).not.toContain('\n')
        expect(JSON.parse(quoted)).toBe(text)
      }),
    )
  })
})

test('escapeControls() keeps tabs, line feeds and all other text', () => {
  expect(escapeControls(CONTROLS)).toBe(SHOWN)
  const text = 'tab\there\nline é 文 \u{1f600} <b> "q" \\ \u200d'
  expect(escapeControls(text)).toBe(text)
})

test('the message of an error is short and printable, and keeps its end', () => {
  const { message } = new SkillError('NOT_FOUND', `no skill "${HUGE}${CONTROLS}"; use another`)
  expect(message.length).toBeLessThan(5_000)
  expect(message).toMatch(/^no skill "x+\.\.\. \[\d+ characters left out\] x+.*; use another$/)
  expect(message).not.toMatch(UNSAFE)
  expect(toMessage(new Error(HUGE)).length).toBeLessThan(5_000)
  expect(toMessage(CONTROLS)).toBe(SHOWN)
  expect(limitMessage('short\n\tmessage')).toBe('short\n\tmessage')
  const cut = limitMessage(`${HUGE}${CONTROLS}`)
  expect(limitMessage(cut)).toBe(cut)
})

test('quote() escapes a text and shortens it to the limit', () => {
  expect([quote('a "b"'), quote('abcdefgh', 8), quote('abcdefghi', 8)]).toEqual([
    '"a \\"b\\""',
    '"abcdefgh"',
    '"abcde..."',
  ])
})

test('quoteAll() escapes each name', () => {
  expect([quoteAll([]), quoteAll(['a "b"', 'c'])]).toEqual(['', '"a \\"b\\"", "c"'])
})

test('shorten() marks the end of a shortened text', () => {
  expect([shorten('abc', 3), shorten('abcd', 3)]).toEqual(['abc', 'abc...'])
})

test('if JSON cannot express a value, showValue() shows the type of the value', () => {
  const values = [undefined, () => 1, { a: 'b' }, 'abcdefghij']
  expect(values.map(value => showValue(value, 9))).toEqual([
    'undefined',
    'function',
    '{"a":"b"}',
    '"abcdefgh...',
  ])
})
