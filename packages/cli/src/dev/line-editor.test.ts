import { describe, expect, test } from 'vitest'
import { LineEditor, splitKeys } from './line-editor.ts'

const LEFT = '\u001b[D'
const RIGHT = '\u001b[C'
const UP = '\u001b[A'
const DOWN = '\u001b[B'

function edit(input: string, history: readonly string[] = []): LineEditor {
  const editor = new LineEditor(history)
  for (const key of splitKeys(input)) editor.press(key)
  return editor
}

describe('splitKeys()', () => {
  test.each([
    ['aé😀', ['a', 'é', '😀']],
    [`a${LEFT}b`, ['a', LEFT, 'b']],
    ['\u001b', ['\u001b']],
    ['\u001b[3~x', ['\u001b[3~', 'x']],
    ['\u001b[1;5C', ['\u001b[1;5C']],
    ['\u001bOA', ['\u001bOA']],
    ['\u001ba', ['\u001ba']],
    ['x\r\n', ['x', '\r', '\n']],
    ['', []],
  ])('splits %j into %j', (input, keys) => {
    expect(splitKeys(input)).toEqual(keys)
  })
})

describe('LineEditor', () => {
  test.each([
    ['writes text', 'What?', 'What?'],
    ['inserts at the cursor', `ac${LEFT}b`, 'abc'],
    ['removes the character before the cursor', `abx${LEFT}\u007f`, 'ax'],
    ['removes the character after the cursor', `abx${LEFT}${LEFT}\u001b[3~`, 'ax'],
    ['removes a whole emoji', '👩‍🚀\u007fa', 'a'],
    ['moves to the start and to the end', 'b\u0001a\u0005c', 'abc'],
    ['stops at both ends', `${LEFT}a${RIGHT}${RIGHT}b`, 'ab'],
    ['removes everything before the cursor', `abc${LEFT}\u0015`, 'c'],
    ['ignores unknown keys', 'a\u001b[1;5C\u0001\u0005\u001bx\u0007b', 'ab'],
    ['turns a tab into a space', 'a\tb', 'a b'],
  ])('%s', (_, input, text) => {
    expect(edit(input).text).toBe(text)
  })

  test('shows earlier lines, and an empty line after the newest one', () => {
    const history = ['first', 'second']
    expect(edit(UP, history).text).toBe('second')
    expect(edit(`${UP}${UP}${UP}`, history).text).toBe('first')
    expect(edit(`${UP}${UP}${DOWN}`, history).text).toBe('second')
    expect(edit(`${UP}${DOWN}${DOWN}`, history).text).toBe('')
    expect(edit(`${UP}!`, history).text).toBe('second!')
  })

  test('Enter submits, Esc and Ctrl-C cancel, Ctrl-D cancels only an empty line', () => {
    const press = (input: string, key: string): string => edit(input).press(key)
    expect(press('a', '\r')).toBe('submitted')
    expect(press('a', '\u001b')).toBe('cancelled')
    expect(press('a', '\u0003')).toBe('cancelled')
    expect(press('a', '\u0004')).toBe('editing')
    expect(press('', '\u0004')).toBe('cancelled')
  })

  test('view() shows the part of a long line around the cursor', () => {
    expect(edit('abc').view(10)).toEqual({ text: 'abc', column: 3 })
    expect(edit('abcdef').view(4)).toEqual({ text: 'cdef', column: 4 })
    expect(edit(`abcdef${LEFT}${LEFT}`).view(3)).toEqual({ text: 'bcd', column: 3 })
    expect(edit('abcdef\u0001').view(3)).toEqual({ text: 'abc', column: 0 })
    expect(edit('日本語').view(5)).toEqual({ text: '本語', column: 4 })
  })
})
