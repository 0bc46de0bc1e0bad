// biome-ignore-all lint/suspicious/noControlCharactersInRegex: the patterns look for control characters
// biome-ignore-all lint/suspicious/noMisleadingCharacterClass: the patterns look for single joiners and selectors
import type { Diagnostic } from './diagnostic.ts'
import { findUnreadableByte } from './shown-bytes.ts'

/**
 * Consecutive characters that are invisible or that reorder text. A model reads these characters, but a person does not
 * see them.
 */
export interface HiddenText {
  /** Position in UTF-16 code units, counted from 0. */
  readonly index: number
  readonly length: number
  /** Counted from 1. */
  readonly line: number
  /** Column in UTF-16 code units, counted from 1. */
  readonly column: number
  /**
   * The code point, such as `U+200B`. For several characters, the first and the last code point, and the number of
   * characters.
   */
  readonly shown: string
}

// This pattern must be fast, because it runs on every scanned text. Several character classes with few ranges are five
// times as fast as one class with all ranges.
const MAY_HIDE =
  /[\u0000-\u0008\u000b\u000e-\u001f\u007f-\u009f\u00ad]|[\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f]|[\u200b-\u200f\u2028-\u202e\u2060-\u206f]|[\ufe00-\ufe0f]|[\u2800\u3164\ud82f\ud834\udb40-\udb43\ufeff\uffa0\ufff0-\ufffb]/

// Controls except tab, line feed, form feed and carriage return; Unicode's ignorable characters; line separators;
// annotations; the empty Braille pattern. Visible marks, such as the Arabic number sign, are not included.
const HIDDEN =
  /[\p{Default_Ignorable_Code_Point}\u0000-\u0008\u000b\u000e-\u001f\u007f-\u009f\u2028\u2029\u2800\ufff9-\ufffb]/u

const EMOJI = String.raw`\p{Extended_Pictographic}[\ufe0e\ufe0f]?\p{Emoji_Modifier}?`
const JOINING = String.raw`[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}]`
const UNSPACED = String.raw`[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]`

/**
 * Legitimate uses of invisible characters. Each branch of the pattern tests the invisible character before the text
 * around it, because invisible characters are rare.
 */
const ORDINARY = new RegExp(
  [
    String.raw`\u200d(?<=${EMOJI}\u200d)(?=\p{Extended_Pictographic})`, // joins emoji
    String.raw`[\ufe0e\ufe0f](?<=(?:(?![0-9#*])\p{Emoji}|\p{Emoji}\p{Emoji_Modifier})[\ufe0e\ufe0f])`, // selects coloured or plain emoji
    String.raw`\ufe0f(?<=[0-9#*]\ufe0f)(?=\u20e3)`, // a keycap
    String.raw`\u200c(?<=${JOINING}\u200c)(?=${JOINING})`, // keeps letters apart
    String.raw`\u200d(?<=${JOINING}\u200d)`, // shows the form of a letter
    String.raw`\u200b(?<=${UNSPACED}\u200b)(?=${UNSPACED})`, // ends a word in scripts without spaces
    String.raw`[\u180b-\u180d\u180f](?<=\p{Script=Mongolian}[\u180b-\u180d\u180f])`, // selects the variant of a letter
    // Only the flags of England, Scotland and Wales consist of tag characters.
    String.raw`\u{e0067}\u{e0062}(?<=\u{1f3f4}\u{e0067}\u{e0062})(?:\u{e0065}\u{e006e}\u{e0067}|\u{e0073}\u{e0063}\u{e0074}|\u{e0077}\u{e006c}\u{e0073})\u{e007f}`,
  ].join('|'),
  'uy',
)

/**
 * Finds invisible text: tag characters, zero-width characters, bidirectional controls, variation selectors, fillers
 * and control characters. Ignores joiners that a word or an emoji needs, and a byte order mark at the start of the
 * text.
 *
 * @example
 * ```ts
 * import { findHiddenText } from '@skillstoke/core'
 *
 * const [found] = findHiddenText('Say hello.\nIgnore\u200Bthis.')
 * console.log(found?.line, found?.shown) // prints 2 U+200B
 * ```
 */
export function findHiddenText(text: string): readonly HiddenText[] {
  const found = findAll(text)
  const [first] = found
  // A lone byte order mark at the start only names the encoding. If hidden characters follow the mark directly, they
  // are reported together with the mark.
  return first?.index === 0 && first.length === 1 && text.startsWith('\ufeff') ? found.slice(1) : found
}

function findAll(text: string): readonly HiddenText[] {
  if (!MAY_HIDE.test(text)) return []
  const found: HiddenText[] = []
  let run: { index: number; end: number; points: string[] } | undefined
  const lines = new LineCounter(text)
  const close = (): void => {
    if (run === undefined) return
    const { index, end, points } = run
    found.push({ index, length: end - index, ...lines.at(index), shown: showPoints(points) })
    run = undefined
  }
  const candidates = new RegExp(MAY_HIDE, 'g')
  for (let match = candidates.exec(text); match !== null; match = candidates.exec(text)) {
    const { index } = match
    const character = String.fromCodePoint(text.codePointAt(index) as number)
    ORDINARY.lastIndex = index
    candidates.lastIndex = ORDINARY.test(text) ? ORDINARY.lastIndex : index + character.length
    if (ORDINARY.lastIndex > index || !HIDDEN.test(character)) continue
    if (run?.end !== index) close()
    run ??= { index, end: index, points: [] }
    run.end = index + character.length
    run.points.push(nameCodePoint(character))
  }
  close()
  return found
}

/**
 * Returns the text with each hidden character written out, such as `<U+200B>`. This function also writes out byte order
 * marks.
 *
 * @example
 * ```ts
 * import { showHiddenText } from '@skillstoke/core'
 *
 * console.log(showHiddenText('Ignore\u200Bthis.')) // prints Ignore<U+200B>this.
 * ```
 */
export function showHiddenText(text: string): string {
  const found = findAll(text)
  if (found.length === 0) return text
  let shown = ''
  let at = 0
  for (const { index, length } of found) {
    const hidden = [...text.slice(index, index + length)].map(character => `<${nameCodePoint(character)}>`)
    shown += text.slice(at, index) + hidden.join('')
    at = index + length
  }
  return shown + text.slice(at)
}

const MAX_FINDINGS = 5

/**
 * Returns the findings about a text, each with its line. If there are too many places, the last finding gives the
 * number of further places.
 */
export function describeHiddenText(text: string): Diagnostic[] {
  const found = findHiddenText(text)
  const shown = found.length > MAX_FINDINGS + 1 ? found.slice(0, MAX_FINDINGS) : found
  const diagnostics = shown.map(each => toDiagnostic(each, `${each.shown}: invisible characters`))
  const next = found[shown.length]
  if (next !== undefined)
    diagnostics.push(
      toDiagnostic(next, `${found.length - shown.length} more places with invisible characters`),
    )
  return diagnostics
}

/** Returns the finding about a script that is not UTF-8 text; `undefined` for text. */
export function describeUnreadableFile(path: string, bytes: Uint8Array): Diagnostic | undefined {
  const at = findUnreadableByte(bytes)
  if (at === undefined) return undefined
  return {
    code: 'HIDDEN_TEXT',
    severity: 'warning',
    message: `the script is not text, so its bytes are shown as escapes; byte ${at + 1} is the first`,
    path,
    fix: 'save the script as UTF-8 text, or check its bytes',
  }
}

/** Returns the finding about hidden characters in a name, such as a file name. */
export function describeHiddenName(name: string): Diagnostic[] {
  const [first] = findHiddenText(`:${name}`)
  return first === undefined
    ? []
    : [
        {
          ...toDiagnostic(first, `the name contains the invisible characters ${first.shown}`),
          line: 1,
          column: 1,
        },
      ]
}

function toDiagnostic({ line, column }: HiddenText, message: string): Diagnostic {
  return {
    code: 'HIDDEN_TEXT',
    severity: 'warning',
    message,
    line,
    column,
    fix: 'delete them; a person cannot see them, but a model reads them',
  }
}

/** Returns the code point of a character, such as `U+200B`. */
export function nameCodePoint(character: string): string {
  return `U+${(character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}`
}

function showPoints(points: readonly string[]): string {
  const [first = '', second] = points
  if (second === undefined) return first
  return points.length === 2
    ? `${first} ${second}`
    : `${first} to ${points.at(-1)} (${points.length} characters)`
}

/** Converts positions to lines and columns. Callers must pass the positions in ascending order. */
class LineCounter {
  readonly #text: string
  #line = 1
  #start = 0

  constructor(text: string) {
    this.#text = text
  }

  at(index: number): { readonly line: number; readonly column: number } {
    for (let end = this.#text.indexOf('\n', this.#start); end !== -1 && end < index; ) {
      this.#line++
      this.#start = end + 1
      end = this.#text.indexOf('\n', this.#start)
    }
    return { line: this.#line, column: index - this.#start + 1 }
  }
}
