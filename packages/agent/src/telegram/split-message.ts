import { cutText } from './cut-text.ts'

/** The longest message that Telegram accepts, in UTF-16 code units. */
export const MAX_MESSAGE_LENGTH = 4_096

/** A line of Markdown, and its role in a fenced block of code. */
export interface MarkdownLine {
  readonly text: string
  readonly kind: 'text' | 'open' | 'code' | 'close'
  /** The block that the line belongs to. */
  readonly fence?: CodeFence
}

/** A fenced block of code. */
export interface CodeFence {
  /** The characters around the block, for example three backticks. */
  readonly marks: string
  readonly language: string
}

// A longer word after the marks is no language.
const MAX_LANGUAGE_LENGTH = 40

/**
 * Splits a text at line ends into parts of at most `maxLength` UTF-16 code units. A block of code that does not fit is
 * closed at the end of a part, and opened again in the next part. A longer line is split at spaces, and never inside a
 * surrogate pair. Leaves out parts without visible text.
 */
export function splitMessage(
  text: string,
  maxLength: number = MAX_MESSAGE_LENGTH,
): readonly (readonly MarkdownLine[])[] {
  const parts: MarkdownLine[][] = []
  let part: MarkdownLine[] = []
  for (const line of readLines(text, maxLength)) {
    while (part.length > 0 && lengthOf([...part, line]) + spaceForEnd(line) > maxLength) {
      const { kept, next } = breakBefore(line, part, maxLength)
      parts.push(kept)
      part = next
    }
    part.push(line)
  }
  parts.push(part)
  return parts.filter(lines => lines.some(({ text: shown }) => shown.trim() !== ''))
}

/** Joins the lines of a part. */
export function toText(lines: readonly MarkdownLine[]): string {
  return lines.map(({ text }) => text).join('\n')
}

function readLines(text: string, maxLength: number): MarkdownLine[] {
  let open: CodeFence | undefined
  return text.split('\n').flatMap((line): MarkdownLine[] => {
    const [, marks = '', info = ''] = /^ {0,3}(`{3,20}|~{3,20})(.*)$/.exec(line) ?? []
    if (open !== undefined) {
      const fence = open
      if (!marks.startsWith(fence.marks) || info.trim() !== '')
        return cutLine(line, maxLength - lengthOfFrame(fence)).map(piece => ({
          ...{ text: piece, kind: 'code', fence },
        }))
      open = undefined
      return [{ text: fence.marks, kind: 'close', fence }]
    }
    // Three backticks may also be code within a line.
    if (marks === '' || (marks.startsWith('`') && info.includes('`')))
      return cutLine(line, maxLength).map(piece => ({ text: piece, kind: 'text' }))
    const [language = ''] = info.trim().split(/\s/, 1)
    open = { marks, language: language.length > MAX_LANGUAGE_LENGTH ? '' : language }
    return [toOpening(open)]
  })
}

function toOpening(fence: CodeFence): MarkdownLine {
  return { text: fence.marks + fence.language, kind: 'open', fence }
}

/** The length of the lines around one line of code. */
function lengthOfFrame(fence: CodeFence): number {
  return toOpening(fence).text.length + fence.marks.length + 2
}

function lengthOf(lines: readonly MarkdownLine[]): number {
  return lines.reduce((length, { text }) => length + text.length + 1, -1)
}

/** Returns the number of characters to reserve after a line, so that a message can close its block of code. */
function spaceForEnd({ kind, fence }: MarkdownLine): number {
  return fence !== undefined && kind !== 'close' ? fence.marks.length + 1 : 0
}

/** Ends a part before a line that does not fit. `next` is the beginning of the next part. */
function breakBefore(
  { kind, fence }: MarkdownLine,
  part: readonly MarkdownLine[],
  maxLength: number,
): { readonly kept: MarkdownLine[]; readonly next: MarkdownLine[] } {
  if (fence !== undefined && kind !== 'open') {
    // A block that has only its first line in this part moves to the next part.
    if (part.at(-1)?.kind === 'open') return { kept: part.slice(0, -1), next: part.slice(-1) }
    return { kept: [...part, { text: fence.marks, kind: 'close', fence }], next: [toOpening(fence)] }
  }
  const end = part.findLastIndex(({ text, kind: role }) => role === 'text' && text.trim() === '')
  if (end > 0 && lengthOf(part.slice(0, end)) > maxLength / 2)
    return { kept: part.slice(0, end), next: part.slice(end + 1) }
  return { kept: [...part], next: [] }
}

/** Cuts a line into pieces of at most `maxLength` code units. */
function cutLine(line: string, maxLength: number): string[] {
  const pieces: string[] = []
  let rest = line
  while (rest.length > maxLength) {
    const end = findCut(rest, maxLength)
    pieces.push(rest.slice(0, end))
    rest = rest.slice(end)
  }
  return [...pieces, rest]
}

function findCut(line: string, maxLength: number): number {
  const afterSpace = line.lastIndexOf(' ', maxLength - 1) + 1
  // A cut after an early space would make a short piece.
  if (afterSpace > maxLength / 2) return afterSpace
  return cutText(line, maxLength).length
}
