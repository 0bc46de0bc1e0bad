import { isAbsolute, relative } from 'node:path'
import { stripVTControlCharacters, styleText } from 'node:util'
import { type Diagnostic, type SkillStatus, showHiddenText } from '@skillstoke/core'
import { describePlace } from '@skillstoke/core/internal'

type Style = Parameters<typeof styleText>[0]

/** Paints text, or leaves it alone where colors are not wanted. */
export type Paint = (style: Style, text: string) => string

export function createPaint(hasColor: boolean): Paint {
  return hasColor
    ? (style, text) => styleText(style, text, { validateStream: false })
    : (_style, text) => text
}

// What JSON lets stand as it is and a terminal obeys or hides: C1 controls, separators of lines, everything that shows nothing.
// Line feeds are left out: the form of the JSON has thousands, and a text in it has none.
const UNSAFE_IN_JSON = /[[\p{Cc}--[\n]]\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\ufff9-\ufffb]/gv

/** JSON of ASCII controls and hidden characters as escapes: the same value for programs, and nothing that drives a terminal. */
export function printJson(value: unknown): void {
  const json = JSON.stringify(value, undefined, 2).replace(UNSAFE_IN_JSON, toEscapes)
  process.stdout.write(`${json}\n`)
}

/** As JSON and JavaScript write them, one escape for each UTF-16 code unit. */
function toEscapes(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
  return units.map(unit => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}

export function printLine(text = ''): void {
  process.stdout.write(`${text}\n`)
}

/** Text of a skill's author on a terminal: what could move the cursor, or shows nothing, is written out as `<U+200B>`. */
export function toTerminalText(text: string): string {
  return showHiddenText(text).replace(/[\f\r]/g, toEscapes)
}

/** What a script wrote on a terminal: the same, without the colours that programs write. */
export function toTerminalOutput(text: string): string {
  return toTerminalText(stripVTControlCharacters(text))
}

/** The same for places where a line break would forge another line. */
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

/** From here, where that is shorter; as it is where it is no path of this machine. */
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

/** What is to be known besides the answer, where it is in nobody's way. */
export function printFindings(findings: readonly Diagnostic[], paint: Paint): void {
  for (const finding of findings) process.stderr.write(`${formatDiagnostic(finding, paint)}\n`)
}

/** Broken first, then in the order of the generation. */
export function sortForPeople<T extends { readonly status: SkillStatus }>(
  reports: readonly T[],
): readonly T[] {
  return reports.toSorted((a, b) => Number(b.status === 'broken') - Number(a.status === 'broken'))
}

/** Rows as aligned columns; the last column may be long. */
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

/** One line of at most `length` characters. */
export function shorten(text: string, length: number): string {
  const line = toTerminalText(text).replace(/\s+/g, ' ')
  return line.length > length ? `${line.slice(0, length - 1)}…` : line
}

/** Words as a person would type them into a shell: that of POSIX, on Windows PowerShell, and `cmd` as far as both agree. */
export function toCommandLine(
  words: readonly string[],
  platform: NodeJS.Platform = process.platform,
): string {
  return words.map(platform === 'win32' ? quoteForWindows : quoteForPosix).join(' ')
}

function quoteForPosix(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

/** PowerShell takes typographic apostrophes for plain ones. */
const APOSTROPHES = /['\u2018-\u201b]/g

function quoteForWindows(word: string): string {
  if (/^[\w+=:./\\-][\w@+=:./\\~-]*$/.test(word)) return word
  // Between double quotes these mean the same in both shells.
  if (/^[\w@+=:,./\\~ ()#&;'-]+$/.test(word) && !word.endsWith('\\')) return `"${word}"`
  return `'${word.replace(APOSTROPHES, '$&$&')}'`
}
