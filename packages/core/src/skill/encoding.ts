import type { Diagnostic } from './diagnostic.ts'
import { decodeAnyText, decodeText } from './text.ts'

/** Decodes the bytes of a SKILL.md, or returns the finding about bytes that are not UTF-8. */
export function decodeSkillText(bytes: Uint8Array): string | Diagnostic {
  const wide = describeWide(bytes)
  if (wide !== undefined) return toDiagnostic(`SKILL.md is UTF-16 text ${wide}`, 1, 1)
  return decodeText(bytes) ?? describeWrongByte(bytes)
}

/** Recognises UTF-16 by its byte order mark, or by the zero bytes of its first two characters. */
function describeWide(bytes: Uint8Array): string | undefined {
  const [first, second, third, fourth] = bytes
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
    return 'with a byte order mark'
  if (bytes.length < 4) return undefined
  const isBigEndian = first === 0 && third === 0 && second !== 0 && fourth !== 0
  const isLittleEndian = second === 0 && fourth === 0 && first !== 0 && third !== 0
  return isBigEndian || isLittleEndian ? 'without a byte order mark' : undefined
}

const encoder = new TextEncoder()
const REPLACEMENT = '\ufffd'

/** Returns the finding about the first byte that is not UTF-8. */
function describeWrongByte(bytes: Uint8Array): Diagnostic {
  const text = decodeAnyText(bytes)
  let at = text.indexOf(REPLACEMENT)
  let offset = encoder.encode(text.slice(0, at)).length
  // The decoder replaces wrong bytes with U+FFFD, but the file may contain U+FFFD too.
  while (decodeText(bytes.subarray(offset, offset + 3)) === REPLACEMENT) {
    const next = text.indexOf(REPLACEMENT, at + 1)
    offset += encoder.encode(text.slice(at, next)).length
    at = next
  }
  const before = text.slice(0, at).split('\n')
  const shown = (bytes[offset] ?? 0).toString(16).toUpperCase().padStart(2, '0')
  const message = `SKILL.md is not UTF-8 text: the byte 0x${shown} begins no UTF-8 character`
  return toDiagnostic(message, before.length, (before.at(-1) ?? '').length + 1)
}

function toDiagnostic(message: string, line: number, column: number): Diagnostic {
  const fix = 'save the file as UTF-8'
  return { code: 'ENCODING_NOT_UTF8', severity: 'error', message, line, column, fix }
}
