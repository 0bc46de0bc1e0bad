import { expect, test } from 'vitest'
import { toTerminalText } from '../terminal/output.ts'
import { StreamedText } from './streamed-text.ts'

const FAMILY = '👩\u200d👩\u200d👧'
const TEXT = `Plain, ${FAMILY} and 1\ufe0f\u20e3.\nक\u200cष, hid\u200bden, \u001b[31mred\u001b[0m\r\nlast\u200b`

test('push() and end() return the safe text, wherever the text is cut', () => {
  const expected = toTerminalText(TEXT.replace('\r\n', '\n'))
  expect(expected).toContain(FAMILY)
  expect(expected).toContain('hid<U+200B>den, <U+001B>[31mred')
  for (let size = 1; size <= TEXT.length; size++) {
    const stream = new StreamedText()
    let shown = ''
    for (let at = 0; at < TEXT.length; at += size) shown += stream.push(TEXT.slice(at, at + size))
    expect([size, shown + stream.end()]).toEqual([size, expected])
  }
})

test('push() holds back no visible text', () => {
  const stream = new StreamedText()
  expect([stream.push('One'), stream.push(' two\nthr'), stream.push('ee'), stream.end()]).toEqual([
    'One',
    ' two\nthr',
    'ee',
    '',
  ])
})
