import { isAbsolute, relative } from 'node:path'
import { stripVTControlCharacters, styleText } from 'node:util'
import { type Diagnostic, type SkillExplanation, type SkillStatus, showHiddenText } from '@skillstoke/core'
import { describePlace } from '@skillstoke/core/internal'
import { hasColor } from '../config/color.ts'
import { leadsOut } from '../config/real-path.ts'
import { toCommandLine } from './command-line.ts'
import { nameProgram } from './program-name.ts'

type Style = Parameters<typeof styleText>[0]

/** Colors text, unless it goes to no terminal or the user wants no colors. */
export function paint(style: Style, text: string): string {
  return hasColor() ? styleText(style, text, { validateStream: false }) : text
}

// Characters that JSON leaves unescaped, although a terminal acts on them or hides them: C1 controls, line separators,
// invisible characters. Line feeds are excluded, because JSON text contains them only between values.
const UNSAFE_IN_JSON = /[[\p{Cc}--[\n]]\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\ufff9-\ufffb]/gv

/**
 * Prints JSON with control and invisible characters as escapes. Programs still read the same value, and a terminal
 * shows no raw control character.
 */
export function printJson(value: unknown): void {
  process.stdout.write(`${toSafeJson(JSON.stringify(value, undefined, 2))}\n`)
}

/** Writes control and invisible characters of a JSON text as escapes. */
export function toSafeJson(json: string): string {
  return json.replace(UNSAFE_IN_JSON, toEscapes)
}

/** Prints JSON like `printJson()`, but as one line, for output with one value per line. */
export function printJsonLine(value: unknown): void {
  process.stdout.write(`${toSafeJson(JSON.stringify(value))}\n`)
}

/** Escapes each UTF-16 code unit in the syntax of JSON. */
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

/** Removes color codes from the output of a script, and makes the output safe for a terminal. */
export function toTerminalOutput(text: string): string {
  return toTerminalText(stripVTControlCharacters(text))
}

/** Like `toTerminalText()`, but also escapes line breaks, so that the text cannot look like two lines of output. */
export function toTerminalLine(text: string): string {
  return toTerminalText(text).replace(/[\n\t]/g, toEscapes)
}

/**
 * Prepares advice for the terminal. If the advice contains a `stoke` command, replaces `stoke` with the program name
 * that works in this folder.
 * @param options appended to a command that is not quoted, so that the command finds the same skills
 */
export function toAdvice(text: string, options: readonly string[] = []): string {
  const advice = toTerminalText(text)
  if (options.length === 0) return nameProgram(advice)
  // Inserts the options after the program name was replaced, because a path in the options may contain `stoke`.
  return nameProgram(advice.replace(COMMAND_ALONE, `$& ${PLACEHOLDER}`)).replaceAll(PLACEHOLDER, () =>
    toCommandLine(options),
  )
}

// A NUL, which text for the terminal never contains.
const PLACEHOLDER = '\0'

/** Matches a command at the start of the advice or after a colon, up to a semicolon outside of quotes or the end. */
const COMMAND_ALONE = /(?<=^|: )stoke (?:'[^']*'|[^"`;'])+(?=;|$)/g

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

export function paintStatus(status: SkillStatus): string {
  return paint(STATUS_STYLES[status], status)
}

/** Returns a path relative to the working directory if the path is inside it. */
export function nearPath(path: string): string {
  if (!isAbsolute(path)) return path
  const near = relative(process.cwd(), path)
  return near === '' || leadsOut(near) ? path : near
}

/** `skills/pdf/SKILL.md:3:1` */
export function formatPlace(diagnostic: Pick<Diagnostic, 'path' | 'line' | 'column'>): string {
  const { path } = diagnostic
  return describePlace(path === undefined ? diagnostic : { ...diagnostic, path: nearPath(path) })
}

export function formatDiagnostic(diagnostic: Diagnostic<string>, options: readonly string[] = []): string {
  const style = diagnostic.severity === 'error' ? 'red' : diagnostic.severity === 'warning' ? 'yellow' : 'dim'
  const place = formatPlace(diagnostic)
  const message = toTerminalLine(diagnostic.message)
  const fix = diagnostic.fix === undefined ? '' : `\n    fix: ${toAdvice(diagnostic.fix, options)}`
  return `${paint(style, diagnostic.severity)} ${place === '' ? '' : `${toTerminalLine(place)}: `}${message} ${paint('dim', `[${diagnostic.code}]`)}${fix}`
}

/** Prints diagnostics on standard error, apart from the result. */
export function printFindings(findings: readonly Diagnostic<string>[]): void {
  for (const finding of findings) process.stderr.write(`${formatDiagnostic(finding)}\n`)
}

/** Moves broken skills to the start of the list. All other skills keep their order. */
export function sortForPeople<T extends { readonly status: SkillStatus }>(
  reports: readonly T[],
): readonly T[] {
  return reports.toSorted((a, b) => Number(b.status === 'broken') - Number(a.status === 'broken'))
}

/** Columns of a table are not made narrower than this. */
const MIN_COLUMN = 8
const GAP = '  '

/**
 * Formats rows as aligned columns. Does not pad the last column. If the rows are too wide, shortens the cells of the
 * widest columns in the middle.
 * @param width `Infinity` for texts that must not be shortened
 */
export function formatTable(
  rows: readonly (readonly string[])[],
  width: number = process.stdout.columns || Infinity,
): string {
  const widths: number[] = []
  for (const row of rows) {
    row.forEach((cell, index) => {
      widths[index] = Math.max(widths[index] ?? 0, widthOf(cell))
    })
  }
  fitColumns(widths, width)
  const pad = (cell: string, most: number): string => cell + ' '.repeat(most - widthOf(cell))
  const format = (row: readonly string[]): string => {
    const cells = row.map((cell, index) => shortenMiddle(cell, widths[index] as number))
    return cells
      .map((cell, index) => (index === row.length - 1 ? cell : pad(cell, widths[index] as number)))
      .join(GAP)
      .trimEnd()
  }
  return rows.map(format).join('\n')
}

/** Formats a table that is indented by two spaces, and fits the terminal. */
export function formatIndented(
  rows: readonly (readonly string[])[],
  width: number = process.stdout.columns || Infinity,
): string {
  return formatTable(rows, width - GAP.length).replace(/^/gm, GAP)
}

/** Makes the widest columns narrower until all columns fit. */
function fitColumns(widths: number[], width: number): void {
  let excess = widths.reduce((sum, each) => sum + each + GAP.length, -GAP.length) - width
  for (; excess > 0; excess--) {
    const widest = Math.max(...widths)
    if (widest <= MIN_COLUMN) return
    widths[widths.lastIndexOf(widest)] = widest - 1
  }
}

/** Shortens the text between the color codes at the start and at the end of a cell. */
function shortenMiddle(cell: string, width: number): string {
  if (widthOf(cell) <= width) return cell
  const [, start = '', text = '', end = ''] =
    /^((?:\p{Cc}\[[\d;]*m)*)(.*?)((?:\p{Cc}\[[\d;]*m)*)$/su.exec(cell) ?? []
  const plain = stripVTControlCharacters(text)
  const tail = Math.floor((width - 1) / 2)
  return `${start}${cutMiddle(plain, width - 1 - tail, tail)}${end}`
}

/** Keeps so many characters at the start and at the end of a text that is longer. */
export function cutMiddle(text: string, head: number, tail: number): string {
  return text.length > head + tail + 1 ? `${text.slice(0, head)}…${text.slice(text.length - tail)}` : text
}

function widthOf(cell: string): number {
  return /\p{Cc}/u.test(cell) ? stripVTControlCharacters(cell).length : cell.length
}

/** Returns a time in UTC, for example `2026-11-26 09:30`. */
export function formatTime(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace('T', ' ')
}

/** Formats the steps by which a skill reaches a conversation. */
export function formatSteps(
  { steps }: SkillExplanation,
  { options }: { readonly options: readonly string[] },
): string {
  return formatTable(
    steps.map(({ step, ok, detail }) => [
      ok ? paint('green', 'yes') : paint('red', 'no'),
      step,
      toAdvice(toTerminalLine(detail), options),
    ]),
    Infinity,
  )
}

/** Returns a message of a user as one line in quotation marks. */
export function quoteMessage(message: string): string {
  return `"${shorten(message, 60)}"`
}

/** Lists words or names. */
export function joinWords(words: readonly string[]): string {
  return toTerminalLine(words.join(', '))
}

/** Returns the text as one line of at most `length` characters. */
export function shorten(text: string, length: number): string {
  const line = toTerminalText(text).replace(/\s+/g, ' ')
  return line.length > length ? `${line.slice(0, length - 1)}…` : line
}
