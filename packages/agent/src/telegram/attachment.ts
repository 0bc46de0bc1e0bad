import { decodePlainText, quote } from '@skillstoke/core/internal'
import type { FilePart, TextPart } from 'ai'
import { CHAT_TEXTS } from './chat-texts.ts'
import type { TelegramFile } from './read-update.ts'

export interface AttachmentOptions {
  readonly readFile: (file: TelegramFile) => Promise<Uint8Array>
  readonly maxFileBytes: number
}

/** The content of a message with a file, or the answer to a file that cannot be used. */
export type Attachment =
  | { readonly parts: (TextPart | FilePart)[] }
  | { readonly refusal: string; readonly error?: unknown }

/**
 * Reads a file that a user sent. A document with text becomes text, because few models read text files. Of a photo, the
 * largest size within the limit is read.
 */
export async function readAttachment(
  sizes: readonly TelegramFile[],
  caption: string,
  { readFile, maxFileBytes }: AttachmentOptions,
): Promise<Attachment> {
  const file = sizes.findLast(({ bytes = 0 }) => bytes <= maxFileBytes)
  const name = sizes[0]?.kind === 'document' ? (sizes[0].name ?? 'document') : undefined
  const tooLarge = { refusal: CHAT_TEXTS.tooLarge(name, maxFileBytes) }
  if (file === undefined) return tooLarge
  let bytes: Uint8Array
  try {
    bytes = await readFile(file)
  } catch (error) {
    return { refusal: CHAT_TEXTS.unreadable(name), error }
  }
  if (bytes.length > maxFileBytes) return tooLarge
  const parts = [toPart(file, bytes)]
  return { parts: caption === '' ? parts : [{ type: 'text', text: caption }, ...parts] }
}

function toPart(file: TelegramFile, bytes: Uint8Array): TextPart | FilePart {
  const { kind, name, mediaType } = file
  const text = kind === 'document' ? decodePlainText(bytes) : undefined
  if (text !== undefined)
    return {
      type: 'text',
      text: `The user attached the file ${quote(name ?? 'document')}:\n\n${text}`,
    }
  return {
    type: 'file',
    mediaType,
    // Text, because conversations are stored as JSON.
    data: { type: 'data', data: Buffer.from(bytes).toString('base64') },
    ...(name === undefined ? {} : { filename: name }),
  }
}
