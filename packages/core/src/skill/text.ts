// Made once: a decoder costs more than what it decodes.
const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decodes UTF-8 and keeps a byte order mark; `undefined` if the bytes are not UTF-8. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return strictDecoder.decode(bytes)
  } catch {
    return undefined // the only failure of a decoder
  }
}

/** Decodes UTF-8 and keeps a byte order mark; U+FFFD stands for bytes that are not UTF-8. */
export function decodeAnyText(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}

/** Like `decodeAnyText`, without the byte order mark. */
export function decodeUnmarkedText(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}

/** Like `decodeText`, without the byte order mark. */
export function decodeStrictText(bytes: Uint8Array): string | undefined {
  return decodeText(bytes)?.replace(/^\ufeff/, '')
}

/** Like `decodeStrictText`; `undefined` also for bytes with a NUL, as binary files have. */
export function decodePlainText(bytes: Uint8Array): string | undefined {
  return bytes.includes(0) ? undefined : decodeStrictText(bytes)
}

/** A text as searches compare it: without regard to case, or to how its characters are composed. */
export function foldText(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}

/** A text in quotation marks for a message, with at most `maxLength` characters of it. */
export function quote(text: string, maxLength: number = Infinity): string {
  return JSON.stringify(text.length > maxLength ? shorten(text, maxLength - ELLIPSIS.length) : text)
}

/** Names in quotation marks, as `"a", "b"`. */
export function quoteAll(names: readonly string[]): string {
  return names.map(name => JSON.stringify(name)).join(', ')
}

/** The JSON of any value for a message; only its first `maxShown` characters if it has more. */
export function showValue(value: unknown, maxShown: number): string {
  return shorten(toShown(value), maxShown)
}

/** JSON has no text for a function or a bigint, and fails on what contains itself. */
function toShown(value: unknown): string {
  try {
    return JSON.stringify(value) ?? typeof value
  } catch {
    return typeof value === 'bigint' ? `${value}n` : typeof value
  }
}

/** The first `maxShown` characters of a text, with a mark where it was cut. */
export function shorten(text: string, maxShown: number): string {
  return text.length > maxShown ? `${text.slice(0, maxShown)}${ELLIPSIS}` : text
}

const ELLIPSIS = '...'
