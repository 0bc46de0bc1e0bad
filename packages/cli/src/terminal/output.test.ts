import { describe, expect, test } from 'vitest'
import { toCommandLine } from './command-line.ts'
import { formatIndented, formatTable, toAdvice } from './output.ts'

describe('a command to paste', () => {
  test.each([
    ['pdf@3f2a', 'pdf@3f2a'],
    ['/home/me/my skills', "'/home/me/my skills'"],
    ["it's", String.raw`'it'\''s'`],
    ['', "''"],
  ])('writes %j as %s for a POSIX shell', (word, expected) => {
    expect(toCommandLine([word], 'linux')).toBe(expected)
  })

  test.each([
    ['pdf@3f2a', 'pdf@3f2a'],
    ['C:\\skills\\pdf', 'C:\\skills\\pdf'],
    ['C:\\Program Files\\nodejs\\node.exe', '"C:\\Program Files\\nodejs\\node.exe"'],
    ['C:\\my skills\\', "'C:\\my skills\\'"],
    ['a,b', '"a,b"'],
    ['@pdf', '"@pdf"'],
    ["it's", '"it\'s"'],
    ['$(calc)', "'$(calc)'"],
    ['"; calc', "'\"; calc'"],
    ["$'; calc", "'$''; calc'"],
    ['$\u2019; calc', "'$\u2019\u2019; calc'"],
    ['', "''"],
  ])('writes %j as %s on Windows', (word, expected) => {
    expect(toCommandLine([word], 'win32')).toBe(expected)
  })
})

describe('toAdvice()', () => {
  const options = ['--root', 'my stoke $& skills']
  const end = "--root 'my stoke $& skills'"

  test.each([
    ['stoke grant pdf net', `X grant pdf net ${end}`],
    [
      'it waits; a person can: stoke approve pdf; until then',
      `it waits; a person can: X approve pdf ${end}; until then`,
    ],
    ["stoke why 'a; touch pwn'", `X why 'a; touch pwn' ${end}`],
    ['remove it with "stoke remove pdf" first', 'remove it with "X remove pdf" first'],
    ['close the quotation mark', 'close the quotation mark'],
  ])('turns %j into commands for this folder', (text, expected) => {
    const advice = toAdvice(text, options).replace(
      /(?:npx (?:--prefix \S+ )?skillstoke|\bstoke)(?= [a-z])/,
      'X',
    )
    expect(advice).toBe(expected)
  })
})

describe('formatTable()', () => {
  const description = 'Works out what a parcel costs to send, by weight and zone.'
  const rows = [
    ['ok', 'a-skill-with-a-long-name', description],
    ['broken', '\u001b[1mpdf\u001b[22m', 'short'],
  ]

  test('keeps full width where no terminal limits it', () => {
    expect(formatTable(rows, Infinity).split('\n')[0]).toBe(
      `ok      a-skill-with-a-long-name  ${description}`,
    )
  })

  test.each([80, 60, 40])('fits into %i columns, and shortens the widest cells in the middle', width => {
    const [first = '', second = ''] = formatTable(rows, width).split('\n')
    expect(first).toHaveLength(width)
    expect(first).toMatch(/ Works.*….*zone\.$/)
    expect(second).toContain('\u001b[1mpdf\u001b[22m')
  })

  test('an indented table fits as well, and a row ends without spaces', () => {
    const [first = '', second = ''] = formatIndented([...rows.slice(0, 1), ['ok', 'pdf', '']], 40).split('\n')
    expect(first).toHaveLength(40)
    expect(second).toBe('  ok  pdf')
  })

  test('keeps the color codes around a shortened cell', () => {
    const cell = `\u001b[1m${'abc'.repeat(9)}\u001b[22m`
    expect(formatTable([[cell]], 9)).toBe('\u001b[1mabca…cabc\u001b[22m')
  })

  test('makes no column narrower than eight columns', () => {
    expect(formatTable([['abcdefgh', 'abcdefghij']], 5)).toBe('abcdefgh  abcd…hij')
  })
})
