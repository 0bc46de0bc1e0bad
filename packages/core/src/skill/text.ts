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
 * Decodes a file that an editor shows as text: UTF-8 without a NUL, or UTF-16 with a byte order mark. Returns
 * `undefined` for any other bytes.
 */
export function decodeReadableText(bytes: Uint8Array): string | undefined {
  return decodePlainText(bytes) ?? decodeUtf16(bytes)
}

function decodeUtf16(bytes: Uint8Array): string | undefined {
  const [first, second] = bytes
  const isBigEndian = first === 0xfe && second === 0xff
  if (!isBigEndian && !(first === 0xff && second === 0xfe)) return undefined
  // Not every runtime decodes the big-endian form.
  const pairs = isBigEndian ? bytes.map((_, index) => bytes[index ^ 1] ?? 0) : bytes
  try {
    const text = new TextDecoder('utf-16le', { fatal: true }).decode(pairs)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined // an odd number of bytes, or half a character
  }
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
