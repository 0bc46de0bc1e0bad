// The decoders are created only once, because creating a decoder takes longer than decoding a short text.
const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const encoder = new TextEncoder()
/** UTF-8 needs at most this many bytes for one UTF-16 code unit. */
const MOST_BYTES_PER_UNIT = 3

/** Decodes UTF-8 and keeps a byte order mark; `undefined` if the bytes are not UTF-8. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return strictDecoder.decode(bytes)
  } catch {
    return undefined // the only failure of a decoder
  }
}

/** Decodes UTF-8 and keeps a byte order mark. Replaces bytes that are not UTF-8 with U+FFFD. */
export function decodeAnyText(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}

/** Decodes like `decodeAnyText`, but removes the byte order mark. */
export function decodeUnmarkedText(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}

/** Decodes like `decodeText`, but removes the byte order mark. */
export function decodeStrictText(bytes: Uint8Array): string | undefined {
  return decodeText(bytes)?.replace(/^\ufeff/, '')
}

/** Decodes like `decodeStrictText`, but also returns `undefined` for bytes with a NUL, which means a binary file. */
export function decodePlainText(bytes: Uint8Array): string | undefined {
  return bytes.includes(0) ? undefined : decodeStrictText(bytes)
}

/**
 * If a text exceeds `maxBytes` in UTF-8, returns its size in bytes. Returns `undefined` for a text within that limit.
 */
export function findExcessBytes(text: string, maxBytes: number): number | undefined {
  if (text.length * MOST_BYTES_PER_UNIT <= maxBytes) return undefined
  const { length } = encoder.encode(text)
  return length > maxBytes ? length : undefined
}

/** Returns a text in lower case and NFKC, which is the form that searches compare. */
export function foldText(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}

/** Returns a text in quotation marks for a message, cut to `maxLength` characters. */
export function quote(text: string, maxLength: number = Infinity): string {
  return JSON.stringify(text.length > maxLength ? shorten(text, maxLength - ELLIPSIS.length) : text)
}

/** Returns names in quotation marks: `"a", "b"`. */
export function quoteAll(names: readonly string[]): string {
  return names.map(name => JSON.stringify(name)).join(', ')
}

/** Returns the JSON of any value for a message, cut to `maxShown` characters. */
export function showValue(value: unknown, maxShown: number): string {
  return shorten(toShown(value), maxShown)
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
