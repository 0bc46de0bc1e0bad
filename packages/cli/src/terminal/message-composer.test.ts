import { describe, expect, test } from 'vitest'
import { MessageComposer } from './message-composer.ts'

/** Returns the messages that the lines compose. */
function compose(...lines: readonly string[]): readonly string[] {
  const composer = new MessageComposer()
  return lines.flatMap(line => composer.push(line) ?? [])
}

describe('MessageComposer', () => {
  test.each<[lines: readonly string[], messages: readonly string[]]>([
    [
      ['one', 'two '],
      ['one', 'two'],
    ],
    [['one\\', 'two\\', 'three'], ['one\ntwo\nthree']],
    [
      ['C:\\\\', 'two'],
      ['C:\\\\', 'two'],
    ],
    [
      ['"""', 'one', '', '  two\\', '"""', 'three'],
      ['one\n\n  two\\', 'three'],
    ],
    [['"""one', 'two"""'], ['one\ntwo']],
    [['"""one"""'], ['one']],
    [
      ['one """', 'two'],
      ['one """', 'two'],
    ],
    [['"""', '"""'], ['']],
    [[''], ['']],
  ])('push() joins %j to %j', (lines, messages) => {
    expect(compose(...lines)).toEqual(messages)
  })

  test('a pasted text is one message with unchanged lines, which Enter completes', () => {
    const composer = new MessageComposer()
    for (const line of ['"""', 'one\\', '']) expect(composer.push(line, { isPasted: true })).toBeUndefined()
    expect(composer.isOpen).toBe(true)
    expect(composer.push('end')).toBe('"""\none\\\n\nend')
    expect(composer.isOpen).toBe(false)
  })

  test('clear() discards an open block', () => {
    const composer = new MessageComposer()
    composer.push('"""')
    expect([composer.isOpen, composer.isInBlock]).toEqual([true, true])
    composer.clear()
    expect([composer.isOpen, composer.push('next')]).toEqual([false, 'next'])
  })
})
