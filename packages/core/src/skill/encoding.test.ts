import { describe, expect, test } from 'vitest'
import { parseSkill } from './parse-skill.ts'
import { validateSkill } from './validate-skill.ts'

const encoder = new TextEncoder()
const TEXT = '---\nname: pdf\ndescription: Reads PDF files.\n---\nbody\n'

function toUtf16(text: string, isLittle: boolean): Uint8Array {
  const bytes = new Uint8Array(text.length * 2)
  const view = new DataView(bytes.buffer)
  for (const [index, unit] of [...text].entries()) view.setUint16(index * 2, unit.charCodeAt(0), isLittle)
  return bytes
}

function expectError(bytes: Uint8Array, error: object): void {
  expect(parseSkill(bytes)).toMatchObject({ ok: false, diagnostics: [error] })
  expect(validateSkill(bytes)).toMatchObject([error])
}

describe('a SKILL.md in UTF-16 is named as such:', () => {
  test.each([
    ['little endian', toUtf16(TEXT, true), 'without a byte order mark'],
    ['big endian', toUtf16(TEXT, false), 'without a byte order mark'],
    ['little endian, marked', toUtf16(`\ufeff${TEXT}`, true), 'with a byte order mark'],
    ['big endian, marked', toUtf16(`\ufeff${TEXT}`, false), 'with a byte order mark'],
  ])('%s', (_, bytes, mark) => {
    const message = `SKILL.md is UTF-16 text ${mark}`
    expectError(bytes, { code: 'ENCODING_NOT_UTF8', message, fix: 'save the file as UTF-8' })
  })
})

describe('a byte that is not UTF-8 is reported at its place:', () => {
  test.each([
    [3, 15, '0xE9', ['---\nname: pdf\ndescription: h', 0xe9, '\n---\n']],
    [5, 4, '0x80', ['---\nname: pdf\ndescription: ü\n---\nüä ', 0x80, ' text']],
    [5, 5, '0xFF', ['---\nname: pdf\ndescription: x\n---\n\ufffd\ufffd: ', 0xff]],
    [5, 3, '0xE2', ['---\nname: pdf\ndescription: x\n---\n\u{1f600}', 0xe2, 0x82]],
  ])('line %i, column %i, %s', (line, column, shown, parts) => {
    const bytes = Uint8Array.from(
      parts.flatMap(part => (typeof part === 'number' ? [part] : [...encoder.encode(part)])),
    )
    expectError(bytes, { line, column, message: expect.stringContaining(shown) })
  })
})

test('lines that end with a carriage return alone are named as such', () => {
  const message = expect.stringContaining('carriage return')
  const fix = 'save the file with the line ends LF or CRLF'
  expectError(encoder.encode(TEXT.replaceAll('\n', '\r')), { code: 'FRONTMATTER_MISSING', message, fix })
})
