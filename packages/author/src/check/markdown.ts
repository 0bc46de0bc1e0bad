/** One line of a Markdown text. */
export interface MarkdownLine {
  readonly text: string
  /** Counted from 1 in the file. */
  readonly number: number
  /** Position in the file, in UTF-16 code units. */
  readonly start: number
  /** `code`: inside a fenced block. `fence`: a line that opens or closes a block. */
  readonly kind: 'text' | 'code' | 'fence'
}

/** Fences that do not pair. */
export interface FenceFault {
  /** The line of the faulty fence. */
  readonly line: MarkdownLine
  /** The fence whose block is still open at the faulty fence. Absent if the faulty fence is never closed. */
  readonly open?: MarkdownLine
  /** The fences that contain other fences, from the outermost to the innermost. Empty if a fence is never closed. */
  readonly outer: readonly { readonly open: MarkdownLine; readonly close: MarkdownLine }[]
}

/** A Markdown text as lines. */
export interface Markdown {
  readonly lines: readonly MarkdownLine[]
  readonly fault?: FenceFault
}

/** A part of a line. */
export interface Span {
  readonly text: string
  /** Counted from 1. */
  readonly column: number
}

// The marks end where another character begins, so that no text makes a pattern try many lengths.
const FENCE = /^[\s>]*(`{3,}(?!`)|~{3,}(?!~))([^`]*)$/
/** A fence that opens a block may also be the start of a list item. */
const OPENING = /^[\s>]*(?:[-*+][ \t]+|\d+[.)][ \t]+)?(`{3,}(?!`)|~{3,}(?!~))([^`]*)$/
/** More blocks inside of blocks than an author writes. */
const MAX_NESTED = 50
/** A longer line is no prose, and takes a pattern too long. */
const MAX_LINE = 4000

/**
 * Splits a text into lines, and finds out which lines are code.
 * @param firstLine number of the first line in the file
 * @param offset position of the text in the file
 */
export function readMarkdown(text: string, firstLine = 1, offset = 0): Markdown {
  const lines: MarkdownLine[] = []
  let open: { readonly mark: string; readonly line: MarkdownLine } | undefined
  let nested: { readonly line: MarkdownLine; readonly open: MarkdownLine } | undefined
  let start = offset
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw
    const [, mark = '', info = ''] =
      (open === undefined ? OPENING : FENCE).exec(line.slice(0, MAX_LINE)) ?? []
    const isInside = open !== undefined && !(mark[0] === open.mark[0] && mark.length >= open.mark.length)
    const isFence = mark !== '' && !isInside
    const found: MarkdownLine = {
      ...{ text: line, number: firstLine + index, start },
      kind: isFence ? 'fence' : isInside ? 'code' : 'text',
    }
    lines.push(found)
    start += raw.length + 1
    if (!isFence) continue
    if (open === undefined) open = { mark, line: found }
    else if (info.trim() === '') open = undefined
    else nested ??= { line: found, open: open.line }
  }
  const fault = nested ?? (open === undefined ? undefined : { line: open.line })
  return fault === undefined ? { lines } : { lines, fault: { ...fault, outer: findOuterFences(lines) } }
}

/** Pairs the fences as an author nests them: a fence with a language opens a block, and one without closes it. */
function findOuterFences(lines: readonly MarkdownLine[]): FenceFault['outer'] {
  const open: { readonly line: MarkdownLine; hasInner: boolean }[] = []
  const outer: { open: MarkdownLine; close: MarkdownLine }[] = []
  for (const line of lines.filter(({ kind }) => kind === 'fence')) {
    const info = OPENING.exec(line.text)?.[2] ?? ''
    if (info.trim() !== '' || open.length === 0) {
      const parent = open.at(-1)
      if (parent !== undefined) parent.hasInner = true
      open.push({ line, hasInner: false })
      continue
    }
    const closed = open.pop()
    if (closed?.hasInner) outer.unshift({ open: closed.line, close: line })
  }
  return open.length === 0 && outer.length <= MAX_NESTED ? outer : []
}

/** Returns the line with each inline code replaced by blanks of the same length, and the contents of the codes. */
export function splitInlineCode(line: string): { readonly prose: string; readonly codes: readonly Span[] } {
  const codes: Span[] = []
  if (!line.includes('`') || line.length > MAX_LINE) return { prose: line, codes }
  const prose = line.replaceAll(
    /(`+)(.+?)\1(?!`)/g,
    (whole: string, mark: string, text: string, at: number) => {
      codes.push({
        text: text.trim(),
        column: at + mark.length + 1 + (text.length - text.trimStart().length),
      })
      return ' '.repeat(whole.length)
    },
  )
  return { prose, codes }
}

const LINK = /\]\(\s*<?([^\s()<>]+(?:\([^\s()<>]*\)[^\s()<>]*)*)>?(?:\s+["'][^"']*["'])?\s*\)/g
const REFERENCE = /^\s{0,3}\[[^\]^]+\]:\s+<?([^\s>]+)/

/** Returns the targets of the links and images in a line of prose. */
export function findLinks(prose: string): readonly Span[] {
  if (!prose.includes(']') || prose.length > MAX_LINE) return []
  const inline = [...prose.matchAll(LINK)].map(match => ({
    text: match[1] as string,
    column: match.index + match[0].indexOf(match[1] as string, 2) + 1,
  }))
  const reference = REFERENCE.exec(prose)
  if (reference?.[1] === undefined) return inline
  return [...inline, { text: reference[1], column: reference[0].lastIndexOf(reference[1]) + 1 }]
}
