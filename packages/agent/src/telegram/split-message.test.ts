import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_MESSAGE_LENGTH, splitMessage, toText } from './split-message.ts'

const split = (text: string, maxLength?: number): string[] => splitMessage(text, maxLength).map(toText)

describe('splitMessage()', () => {
  test('keeps a text that fits in one part', () => {
    const text = `${'a'.repeat(4_000)}\n${'b'.repeat(95)}`
    expect(text).toHaveLength(MAX_MESSAGE_LENGTH)
    expect(split(text)).toEqual([text])
    expect(split(`${text}c`)).toEqual(['a'.repeat(4_000), `${'b'.repeat(95)}c`])
  })

  test('prefers to split between paragraphs', () => {
    expect(split('one one one\n\ntwo\nthree three', 20)).toEqual(['one one one', 'two\nthree three'])
    expect(split('one\n\ntwo two two two\nthree', 20)).toEqual(['one\n\ntwo two two two', 'three'])
  })

  test('splits a long line after a space, and otherwise anywhere', () => {
    expect(split('aaaa bbbb cccc dddd', 10)).toEqual(['aaaa bbbb ', 'cccc dddd'])
    expect(split('a bbbbbbbbbbbbbbbb', 10)).toEqual(['a bbbbbbbb', 'bbbbbbbb'])
  })

  test('never splits a surrogate pair', () => {
    expect(split('x😀😀😀😀', 4)).toEqual(['x😀', '😀😀', '😀'])
  })

  test('closes a block of code at the end of a part, and opens it again', () => {
    expect(split('```ts\nline 1\nline 2\nline 3\n```\nEnd.', 24)).toEqual([
      '```ts\nline 1\nline 2\n```',
      '```ts\nline 3\n```\nEnd.',
    ])
  })

  test('moves a block to the next part if only its first line would fit', () => {
    expect(split('Text text text.\n```\na b c d\n```', 20)).toEqual(['Text text text.', '```\na b c d\n```'])
  })

  test('knows which lines end a block', () => {
    const text = '````md\n```\nx\n```\n````'
    expect(splitMessage(text)[0]?.map(({ kind }) => kind)).toEqual(['open', 'code', 'code', 'code', 'close'])
    expect(splitMessage('```a``` inline\ntext')[0]?.map(({ kind }) => kind)).toEqual(['text', 'text'])
    expect(splitMessage('~~~\n```\n~~~')[0]?.map(({ kind }) => kind)).toEqual(['open', 'code', 'close'])
  })

  test('leaves out parts without visible text', () => {
    expect(split('')).toEqual([])
    expect(split(' \n \n')).toEqual([])
    expect(split(`a\n${' '.repeat(30)}\nb`, 10)).toEqual(
      ['a\n         ', 'b'].map(each => expect.stringMatching(each.trim())),
    )
  })

  const word = fc.constantFrom(
    'a',
    'bb',
    ' ',
    'ccc ddd',
    '😀',
    '😀😀😀',
    'é',
    '`x`',
    'a very much longer line of words',
  )
  const line = fc.oneof(
    fc.array(word, { maxLength: 12 }).map(words => words.join('')),
    fc.constantFrom('```', '```ts', '~~~', '````', '', '  ```js title=x'),
  )

  test('never exceeds the limit, never loses text, and leaves no block open in a part', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 30 }), fc.integer({ min: 24, max: 90 }), (lines, maxLength) => {
        const text = lines.join('\n')
        const parts = splitMessage(text, maxLength)
        for (const [index, part] of parts.entries()) {
          expect(toText(part).length).toBeLessThanOrEqual(maxLength)
          expect(toText(part).isWellFormed()).toBe(true)
          const open = part.filter(({ kind }) => kind === 'open').length
          const closed = part.filter(({ kind }) => kind === 'close').length
          // Only the text itself may leave its last block open.
          if (index < parts.length - 1) expect(open).toBe(closed)
          const first = part.find(({ kind }) => kind !== 'text')
          expect(first?.kind ?? 'open').toBe('open')
        }
        const visible = (all: readonly { readonly text: string }[]): string =>
          all
            .map(each => each.text)
            .join('')
            .replaceAll(/\s/g, '')
        const content = parts.flat().filter(({ kind }) => kind === 'text' || kind === 'code')
        const original = splitMessage(text, 1_000_000).flat()
        expect(visible(content)).toBe(
          visible(original.filter(({ kind }) => kind === 'text' || kind === 'code')),
        )
      }),
    )
  })
})
