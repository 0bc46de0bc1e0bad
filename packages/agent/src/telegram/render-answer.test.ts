import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { renderAnswer } from './render-answer.ts'

/** Returns the text of each block of code, as Telegram shows it. */
const blocksOf = (answer: string): string[] =>
  renderAnswer(answer).flatMap(({ text, entities }) =>
    entities.map(({ offset, length }) => text.slice(offset, offset + length)),
  )

describe('renderAnswer()', () => {
  test('turns fenced blocks into blocks of code, and keeps the other text', () => {
    expect(renderAnswer('Use *this*:\n\n```ts\nlet a = 1\n\nlet b = 2\n```\nDone.')).toEqual([
      {
        text: 'Use *this*:\n\nlet a = 1\n\nlet b = 2\nDone.',
        entities: [{ type: 'pre', offset: 13, length: 20, language: 'ts' }],
      },
    ])
  })

  test('keeps neighbouring blocks apart, and needs no language', () => {
    expect(blocksOf('```\na\n```\n```\nb\n```')).toEqual(['a', 'b'])
    expect(renderAnswer('```\na\n```')[0]?.entities).toEqual([{ type: 'pre', offset: 0, length: 1 }])
  })

  test('shows a block that the model did not close', () => {
    expect(blocksOf('See:\n```sh\nls\n')).toEqual(['ls'])
  })

  test('sends no message for an empty answer', () => {
    expect(renderAnswer(' \n ')).toEqual([])
  })

  test('repeats the block in each message of a long answer', () => {
    const code = Array.from({ length: 300 }, (_, index) => `console.log('line ${index}')`)
    const messages = renderAnswer(`Start.\n\`\`\`js\n${code.join('\n')}\n\`\`\`\nEnd.`)
    expect(messages.length).toBeGreaterThan(1)
    expect(messages.map(({ entities }) => entities.map(({ language }) => language))).toEqual(
      messages.map(() => ['js']),
    )
    expect(
      messages.flatMap(({ text, entities: [block] }) =>
        text.slice(block?.offset).slice(0, block?.length).split('\n'),
      ),
    ).toEqual(code)
  })

  test('every block is inside its message and has visible text', () => {
    const line = fc.constantFrom('```', '```ts', '', ' ', 'a', '~~~', 'bb cc')
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), lines => {
        for (const { text, entities } of renderAnswer(lines.join('\n'))) {
          expect(text.trim()).not.toBe('')
          for (const { offset, length } of entities) {
            expect(offset + length).toBeLessThanOrEqual(text.length)
            expect(text.slice(offset, offset + length).trim()).not.toBe('')
          }
        }
      }),
    )
  })
})
