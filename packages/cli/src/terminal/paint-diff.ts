import { type ChangeObject, diffWordsWithSpace } from 'diff'
import { paint, toTerminalText } from './output.ts'

/** Characters of unchanged text that stay beside a changed part of a long line. */
const CONTEXT = 24
// Lines that differ almost everywhere are printed whole, because comparing their words takes long and shows nothing.
const MAX_EDITS = 400

type Side = 'removed' | 'added'
const STYLES = { removed: 'red', added: 'green' } as const

/**
 * Colors a unified diff for a terminal. Of a line that does not fit on the screen, and has a counterpart on the other
 * side, only the words that differ are shown, with the text beside them. Output that goes to no terminal stays whole,
 * so that `patch` can read it.
 * @param columns width of the terminal
 */
export function paintDiff(
  text: string,
  columns: number = process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY,
): string {
  const lines = toTerminalText(text).split('\n')
  const painted: string[] = []
  while (lines.length > 0) {
    const removed = takeWhile(lines, '-')
    const added = takeWhile(lines, '+')
    if (removed.length === added.length && [...removed, ...added].some(line => line.length > columns))
      painted.push(...paintPairs(removed, added))
    else painted.push(...removed.map(line => paint('red', line)), ...added.map(line => paint('green', line)))
    painted.push(...takeWhile(lines, /^(?![-+])|^(---|\+\+\+) .*\t/))
  }
  return painted.join('\n')
}

/** Removes the lines at the beginning that match, and returns them. The names of the files in a diff are no changes. */
function takeWhile(lines: string[], sign: '-' | '+' | RegExp): readonly string[] {
  const isWanted = (line: string): boolean =>
    typeof sign === 'string' ? line.startsWith(sign) && !/^(---|\+\+\+) .*\t/.test(line) : sign.test(line)
  const end = lines.findIndex(line => !isWanted(line))
  return lines.splice(0, end === -1 ? lines.length : end)
}

function paintPairs(removed: readonly string[], added: readonly string[]): readonly string[] {
  const pairs = removed.map((line, index) => paintPair(line.slice(1), (added[index] ?? '').slice(1)))
  return [...pairs.map(pair => pair.removed), ...pairs.map(pair => pair.added)]
}

function paintPair(before: string, after: string): Readonly<Record<Side, string>> {
  const parts = diffWordsWithSpace(before, after, { maxEditLength: MAX_EDITS })
  if (parts === undefined) return { removed: paint('red', `-${before}`), added: paint('green', `+${after}`) }
  return { removed: paintSide(parts, 'removed'), added: paintSide(parts, 'added') }
}

function paintSide(parts: readonly ChangeObject<string>[], side: Side): string {
  const other = side === 'added' ? 'removed' : 'added'
  const texts = parts.map((part, index) => {
    if (part[other]) return ''
    if (part[side]) return paint(['inverse', STYLES[side]], part.value)
    return paint(
      STYLES[side],
      shortenMiddle(part.value, { isFirst: index === 0, isLast: index === parts.length - 1 }),
    )
  })
  return `${paint(STYLES[side], side === 'added' ? '+' : '-')}${texts.join('')}`
}

function shortenMiddle(
  text: string,
  { isFirst, isLast }: { readonly isFirst: boolean; readonly isLast: boolean },
): string {
  const head = isFirst ? '' : text.slice(0, CONTEXT)
  const tail = isLast ? '' : text.slice(-CONTEXT)
  return text.length > head.length + tail.length + 1 ? `${head}…${tail}` : text
}
