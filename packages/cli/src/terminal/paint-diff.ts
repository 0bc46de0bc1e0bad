import { type ChangeObject, diffWordsWithSpace } from 'diff'
import { cutMiddle, paint, toTerminalText } from './output.ts'

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
  return toTerminalText(text)
    .replace(CHANGES, lines => shortenPairs(lines, columns))
    .split('\n')
    .map(line => (HEADER.test(line) ? line : paintLine(line)))
    .join('\n')
}

/** Matches the names of the files in a diff, which are no changes. */
const HEADER = /^(?:---|\+\+\+) .*\t/
/** Matches removed lines and the added lines after them. Begins only at the first of them, so that it takes linear time. */
const CHANGES = /(?<!^-.*\n)(?:^-(?!-- .*\t).*\n)+(?:^\+(?!\+\+ .*\t).*(?:\n|$))+/gm

function paintLine(line: string): string {
  return line.startsWith('+') ? paint('green', line) : line.startsWith('-') ? paint('red', line) : line
}

/** Shortens the lines if each removed line has an added line, and one of them is too long. */
function shortenPairs(text: string, columns: number): string {
  const lines = text.split('\n')
  const removed = lines.filter(line => line.startsWith('-'))
  const added = lines.filter(line => line.startsWith('+'))
  if (removed.length !== added.length || lines.every(line => line.length <= columns)) return text
  const pairs = removed.map((line, index) => paintPair(line.slice(1), (added[index] ?? '').slice(1)))
  const painted = [...pairs.map(pair => pair.removed), ...pairs.map(pair => pair.added)]
  return `${painted.join('\n')}${text.endsWith('\n') ? '\n' : ''}`
}

function paintPair(before: string, after: string): Readonly<Record<Side, string>> {
  const parts = diffWordsWithSpace(before, after, { maxEditLength: MAX_EDITS })
  if (parts === undefined) return { removed: `-${before}`, added: `+${after}` }
  return { removed: `-${paintSide(parts, 'removed')}`, added: `+${paintSide(parts, 'added')}` }
}

function paintSide(parts: readonly ChangeObject<string>[], side: Side): string {
  const own = parts.filter(part => part[side] || !(part.added || part.removed))
  const texts = own.map((part, index) => {
    if (part[side]) return paint(['inverse', STYLES[side]], part.value)
    const [head, tail] = [index === 0 ? 0 : CONTEXT, index === own.length - 1 ? 0 : CONTEXT]
    return paint(STYLES[side], cutMiddle(part.value, head, tail))
  })
  return texts.join('')
}
