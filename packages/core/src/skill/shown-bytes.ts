import type { SkillFile } from './manifest.ts'
import { mayRun } from './program-file.ts'
import { decodePlainText, decodeReadableText, decodeText } from './text.ts'

const MAX_SHOWN_BYTES = 256 * 1_024
const HEX = 16

/** A file as a reviewer sees it. */
export interface ShownFile {
  readonly text: string
  /** False if the text contains escapes in place of bytes. */
  readonly isText: boolean
}

/**
 * Renders a file for a reviewer. Text is returned unchanged. In other files, each byte that is not part of a UTF-8 character
 * is written out, such as `<0xFF>`, and only the first 256 KiB are shown. UTF-16 is text only in files that never run,
 * because a shell reads the same bytes as other lines.
 */
export function showFile(
  { path, isExecutable }: Pick<SkillFile, 'path' | 'isExecutable'>,
  bytes: Uint8Array,
): ShownFile {
  const text = mayRun(path, isExecutable, bytes) ? decodePlainText(bytes) : decodeReadableText(bytes)
  return text === undefined ? { text: showBytes(bytes), isText: false } : { text, isText: true }
}

function showBytes(bytes: Uint8Array): string {
  const head = bytes.subarray(0, MAX_SHOWN_BYTES)
  let shown = ''
  let from = 0
  for (const at of findStrayBytes(head)) {
    const byte = (head[at] ?? 0).toString(HEX).toUpperCase().padStart(2, '0')
    shown += `${decodeText(head.subarray(from, at)) ?? ''}<0x${byte}>`
    from = at + 1
  }
  shown += decodeText(head.subarray(from)) ?? ''
  return bytes.length > head.length ? `${shown}\n<${bytes.length - head.length} more bytes>\n` : shown
}

/** Returns the position of the first byte that a script in UTF-8 cannot contain; `undefined` if there is none. */
export function findUnreadableByte(bytes: Uint8Array): number | undefined {
  if (decodePlainText(bytes) !== undefined) return undefined
  const [stray = bytes.length] = findStrayBytes(bytes)
  const nul = bytes.indexOf(0)
  return nul === -1 ? stray : Math.min(nul, stray)
}

/** Yields the positions of the bytes that are not part of a UTF-8 character. */
function* findStrayBytes(bytes: Uint8Array): Generator<number, void, undefined> {
  for (let at = 0; at < bytes.length; ) {
    const length = lengthAfter(bytes[at] ?? 0)
    const isCharacter =
      length === 1 ||
      (length > 1 && at + length <= bytes.length && decodeText(bytes.subarray(at, at + length)) !== undefined)
    if (!isCharacter) yield at
    at += isCharacter ? length : 1
  }
}

/** Returns the length of the UTF-8 character that a byte begins; 0 if no character begins with it. */
function lengthAfter(byte: number): number {
  if (byte < 0x80) return 1
  if (byte < 0xc2 || byte > 0xf4) return 0
  return byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4
}
