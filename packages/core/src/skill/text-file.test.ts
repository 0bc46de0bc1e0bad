import { expect, test } from 'vitest'
import { describeTextFile } from './text-file.ts'

test.each([
  ['UTF-8', Buffer.from('Ignore\u200bthis.')],
  ['UTF-16', Buffer.from('\ufeffIgnore\u200bthis.', 'utf16le')],
])('describeTextFile() finds hidden text in %s', (_, bytes) => {
  expect(describeTextFile('notes.md', bytes)).toMatchObject([
    { code: 'HIDDEN_TEXT', path: 'notes.md', line: 1, column: 7 },
  ])
})
