import { describe, expect, test } from 'vitest'
import { compareTexts, countLines } from './compare.ts'

describe('compareTexts()', () => {
  test('marks the words of a changed line, and numbers both sides', () => {
    const pairs = compareTexts('A\nwithin 30 days\nC\n', 'A\nwithin 14 days\nC\n')
    expect(pairs.map(({ isEqual }) => isEqual)).toEqual([true, false, true])
    expect(pairs[1]).toMatchObject({ before: { number: 2 }, after: { number: 2 } })
    expect(pairs[1]?.after?.parts).toEqual([
      { text: 'within ', isChanged: false },
      { text: '14', isChanged: true },
      { text: ' days', isChanged: false },
    ])
    expect(countLines(pairs)).toEqual({ added: 1, removed: 1 })
  })

  test('each text can be put together again from its side', () => {
    const [before, after] = ['a\nb\n\nc\r\nd', 'x\na\nc\n\nd e\n']
    const pairs = compareTexts(before, after)
    const side = (name: 'before' | 'after'): string[] =>
      pairs.flatMap(pair => pair[name]?.parts.map(({ text }) => text).join('') ?? [])
    expect(side('before')).toEqual(['a', 'b', '', 'c', 'd'])
    expect(side('after')).toEqual(['x', 'a', 'c', '', 'd e'])
    expect(pairs.flatMap(({ after: line }) => line?.number ?? [])).toEqual([1, 2, 3, 4, 5])
  })

  test('a line without end is compared as a whole, and two texts without a common line come to an end', () => {
    const pairs = compareTexts('a'.repeat(30_000), 'b'.repeat(30_000))
    expect(pairs).toHaveLength(1)
    expect(pairs[0]?.before?.parts).toMatchObject([{ isChanged: true }])
    const many = (letter: string): string =>
      Array.from({ length: 20_000 }, (_, n) => `${letter}${n}`).join('\n')
    expect(countLines(compareTexts(many('x'), many('y')))).toEqual({ added: 20_000, removed: 20_000 })
  })
})
