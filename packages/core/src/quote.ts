/** How much of a value a message quotes, in characters. The longest name with its source and its digest fits. */
const MAX_QUOTED = 600
const MAX_NAMES = 50
/** The longest message, in characters. */
const MAX_MESSAGE = 4_000
const MAX_END = 800
/** Room for the mark in the middle of a cut message, so that a cut message is short enough to stay as it is. */
const MARK_LENGTH = 60

// Control characters except tab and line feed, line separators, and characters that reorder text.
// Node 18 does not know the flag `v`, and must read this file to report that it is too old.
const CONTROLS = /(?![\t\n])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu
const MAY_CONTROL = /[^\t\n\x20-\x7e]/

/** Writes control characters, and characters that reorder text, as escapes such as `\u202e`. Keeps tabs and line feeds. */
export function escapeControls(text: string): string {
  if (!MAY_CONTROL.test(text)) return text
  return text.replace(CONTROLS, character =>
    character === '\r' ? '\\r' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Returns a text in quotation marks for a message, cut to `maxLength` characters and without control characters. */
export function quote(text: string, maxLength: number = MAX_QUOTED): string {
  // Programs without types may pass other values.
  if (typeof text !== 'string') return showValue(text, maxLength)
  const shown = text.length > maxLength ? shorten(text, maxLength - ELLIPSIS.length) : text
  return escapeControls(JSON.stringify(shown))
}

/** Returns names in quotation marks, `"a", "b"`. After fifty names, returns how many follow. */
export function quoteAll(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).map(name => quote(name))
  const rest = names.length - shown.length
  return `${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

/** Returns the JSON of any value for a message, cut to `maxShown` characters. */
export function showValue(value: unknown, maxShown: number = MAX_QUOTED): string {
  return typeof value === 'string' && value.length <= maxShown
    ? quote(value, maxShown)
    : escapeControls(shorten(toShown(value), maxShown))
}

/**
 * Returns the JSON of a value. For functions, bigints and circular objects, which JSON cannot express, returns a
 * substitute.
 */
function toShown(value: unknown): string {
  try {
    return JSON.stringify(value) ?? typeof value
  } catch {
    return typeof value === 'bigint' ? `${value}n` : typeof value
  }
}

/** Shortens a text to its first `maxShown` characters, followed by a mark. */
export function shorten(text: string, maxShown: number): string {
  return text.length > maxShown ? `${text.slice(0, maxShown)}${ELLIPSIS}` : text
}

const ELLIPSIS = '...'

/**
 * Returns a message without control characters. Cuts the middle of a long message, because the end says what to do. Returns
 * its own results unchanged.
 */
export function limitMessage(message: string): string {
  const text = escapeControls(message)
  if (text.length <= MAX_MESSAGE) return text
  const kept = MAX_MESSAGE - MARK_LENGTH
  const left = `[${text.length - kept} characters left out]`
  return `${shorten(text, kept - MAX_END)} ${left} ${text.slice(-MAX_END)}`
}

/** Quotes a word of a command that a person pastes into a POSIX shell. */
export function quoteWord(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${escapeControls(word).replaceAll("'", String.raw`'\''`)}'`
}
