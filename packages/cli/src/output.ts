import { isAbsolute, relative } from 'node:path'
import { stripVTControlCharacters, styleText } from 'node:util'
import { type Diagnostic, type SkillStatus, showHiddenText } from '@skillstoke/core'
import { describePlace } from '@skillstoke/core/internal'

type Style = Parameters<typeof styleText>[0]

/** Colors text, or returns it unchanged if colors are off. */
export type Paint = (style: Style, text: string) => string

export function createPaint(hasColor: boolean): Paint {
  return hasColor
    ? (style, text) => styleText(style, text, { validateStream: false })
    : (_style, text) => text
}

// Characters that JSON does not escape but a terminal obeys or hides: C1 controls, line separators, invisible characters.
// Line feeds are excluded, because in JSON they occur only between values.
const UNSAFE_IN_JSON = /[[\p{Cc}--[\n]]\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\ufff9-\ufffb]/gv

/** Prints JSON with control and invisible characters as escapes. Programs read the same value, and a terminal is not affected. */
export function printJson(value: unknown): void {
  const json = JSON.stringify(value, undefined, 2).replace(UNSAFE_IN_JSON, toEscapes)
  process.stdout.write(`${json}\n`)
}

/** Escapes each UTF-16 code unit as JSON and JavaScript do. */
function toEscapes(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
  return units.map(unit => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}

export function printLine(text = ''): void {
  process.stdout.write(`${text}\n`)
}

/** Makes text of a skill safe for a terminal. Writes control and invisible characters as `<U+200B>`. */
export function toTerminalText(text: string): string {
  return showHiddenText(text).replace(/[\f\r]/g, toEscapes)
}

/** Makes output of a script safe for a terminal. Removes its color codes first. */
export function toTerminalOutput(text: string): string {
  return toTerminalText(stripVTControlCharacters(text))
}

/** Like `toTerminalText`, but escapes line breaks too, so that text cannot forge another line. */
export function toTerminalLine(text: string): string {
  return toTerminalText(text).replace(/[\n\t]/g, toEscapes)
}

const STATUS_STYLES: Readonly<Record<SkillStatus, Style>> = {
  ok: 'green',
  warning: 'yellow',
  broken: 'red',
  shadowed: 'dim',
  pending: 'cyan',
  rejected: 'dim',
  pinned: 'cyan',
  disabled: 'dim',
}

export function paintStatus(status: SkillStatus, paint: Paint): string {
  return paint(STATUS_STYLES[status], status)
}

/** Returns a path relative to the working directory if the path is inside it. */
function nearPath(path: string): string {
  if (!isAbsolute(path)) return path
  const near = relative(process.cwd(), path)
  return near === '' || near.startsWith('..') ? path : near
}

/** `skills/pdf/SKILL.md:3:1` */
export function formatPlace(diagnostic: Diagnostic): string {
  const { path } = diagnostic
  return describePlace(path === undefined ? diagnostic : { ...diagnostic, path: nearPath(path) })
}

export function formatDiagnostic(diagnostic: Diagnostic, paint: Paint): string {
  const style = diagnostic.severity === 'error' ? 'red' : diagnostic.severity === 'warning' ? 'yellow' : 'dim'
  const place = formatPlace(diagnostic)
  const message = toTerminalLine(diagnostic.message)
  const fix = diagnostic.fix === undefined ? '' : `\n    fix: ${toTerminalText(diagnostic.fix)}`
  return `${paint(style, diagnostic.severity)} ${place === '' ? '' : `${toTerminalLine(place)}: `}${message} ${paint('dim', `[${diagnostic.code}]`)}${fix}`
}

/** Prints diagnostics on standard error, apart from the result. */
export function printFindings(findings: readonly Diagnostic[], paint: Paint): void {
  for (const finding of findings) process.stderr.write(`${formatDiagnostic(finding, paint)}\n`)
}

/** Sorts broken skills first, and keeps the order of the generation otherwise. */
export function sortForPeople<T extends { readonly status: SkillStatus }>(
  reports: readonly T[],
): readonly T[] {
  return reports.toSorted((a, b) => Number(b.status === 'broken') - Number(a.status === 'broken'))
}

/** Formats rows as aligned columns. Does not pad the last column. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows) {
    row.forEach((cell, index) => {
      widths[index] = Math.max(widths[index] ?? 0, widthOf(cell))
    })
  }
  const pad = (cell: string, width: number): string => cell + ' '.repeat(width - widthOf(cell))
  return rows
    .map(row =>
      row
        .map((cell, index) => (index === row.length - 1 ? cell : pad(cell, widths[index] as number)))
        .join('  '),
    )
    .join('\n')
}

function widthOf(cell: string): number {
  return /\p{Cc}/u.test(cell) ? stripVTControlCharacters(cell).length : cell.length
}

/** Returns the text as one line of at most `length` characters. */
export function shorten(text: string, length: number): string {
  const line = toTerminalText(text).replace(/\s+/g, ' ')
  return line.length > length ? `${line.slice(0, length - 1)}…` : line
}

/** Quotes words for a POSIX shell. On Windows, quotes them for PowerShell, and for `cmd` where both agree. */
export function toCommandLine(
  words: readonly string[],
  platform: NodeJS.Platform = process.platform,
): string {
  return words.map(platform === 'win32' ? quoteForWindows : quoteForPosix).join(' ')
}

function quoteForPosix(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

/** PowerShell treats typographic apostrophes as plain ones. */
const APOSTROPHES = /['\u2018-\u201b]/g

function quoteForWindows(word: string): string {
  if (/^[\w+=:./\\-][\w@+=:./\\~-]*$/.test(word)) return word
  // Both shells read these characters in the same way between double quotes.
  if (/^[\w@+=:,./\\~ ()#&;'-]+$/.test(word) && !word.endsWith('\\')) return `"${word}"`
  return `'${word.replace(APOSTROPHES, '$&$&')}'`
}
