import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const SEVERITY = /^(?:error|warning|info)\b/

/** Reads the members of a union of string literals from the source text. */
function readUnion(file: string, type: string): string[] {
  const [, members = ''] =
    new RegExp(`^export type ${type} =\\n((?: {2}(?:\\||//|/\\*| \\*).*\\n)+)`, 'm').exec(
      readFileSync(file, 'utf8'),
    ) ?? []
  return [...members.matchAll(/^ {2}\| '([A-Z0-9_]+)'$/gm)].map(([, code = '']) => code)
}

/** Returns the cells of each table row that begins with a code, in the order of the page. */
function readRows(page: string): string[][] {
  return readFileSync(page, 'utf8')
    .split('\n')
    .filter(line => /^\| `[A-Z0-9_]+` \|/.test(line))
    .map(line =>
      line
        .split('|')
        .slice(1, -1)
        .map(cell => cell.trim()),
    )
}

const codeOf = ([first = '']: readonly string[]): string => first.replaceAll('`', '')

const PAGES = [
  ['DiagnosticCode', 'packages/core/src/skill/diagnostic.ts', 'docs/diagnostics.md', 5],
  ['SkillErrorCode', 'packages/core/src/errors.ts', 'docs/errors.md', 4],
] as const

test.each(PAGES)('each code of the type %s in %s has exactly one row in %s', (type, file, page) => {
  const codes = readUnion(file, type)
  const listed = readRows(page).map(codeOf)
  expect(codes.length).toBeGreaterThan(20)
  expect(codes.filter(code => !listed.includes(code))).toEqual([])
  expect(listed.filter(code => !codes.includes(code))).toEqual([])
  expect(listed.filter((code, index) => listed.indexOf(code) !== index)).toEqual([])
})

test.each(PAGES)(
  'each row for the type %s (from %s) has text in all columns of %s',
  (_type, _file, page, columns) => {
    const incomplete = readRows(page).filter(row => row.length !== columns || row.includes(''))
    expect(incomplete.map(codeOf)).toEqual([])
  },
)

test('docs/diagnostics.md groups and orders the codes as DiagnosticCode does', () => {
  const source = readFileSync('packages/core/src/skill/diagnostic.ts', 'utf8').split('\n')
  const end = source.findIndex(line => line.startsWith('/** The values of'))
  const wanted = source.slice(0, end).flatMap(line => /^ {2}(?:\/\/|\|) '?([^']+)'?$/.exec(line)?.[1] ?? [])
  const found = readFileSync('docs/diagnostics.md', 'utf8')
    .split('\n')
    .flatMap(line => /^## (.+)$|^\| `([A-Z0-9_]+)` \|/.exec(line)?.slice(1).find(Boolean) ?? [])
  expect(found.slice(found.indexOf(wanted[0] ?? ''))).toEqual(wanted)
})

test('the severity in each row of docs/diagnostics.md begins with error, warning or info', () => {
  const rows = readRows('docs/diagnostics.md')
  expect(rows.filter(([, severity = '']) => !SEVERITY.test(severity)).map(codeOf)).toEqual([])
})
