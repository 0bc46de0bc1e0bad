import type { MessageEntity } from 'grammy/types'

/** One message of an answer, with its blocks of code. */
export interface RenderedMessage {
  readonly text: string
  readonly entities: MessageEntity.PreMessageEntity[]
}

/** The longest text that Telegram accepts in one message, in UTF-16 code units. */
const MAX_LENGTH = 4_096

/**
 * Turns fenced Markdown into blocks of code, and splits the answer at line ends into messages that Telegram accepts. All
 * other text stays as it is, because text that looks like Markdown may have another meaning.
 */
export function renderAnswer(answer: string): RenderedMessage[] {
  const { text, blocks } = readBlocks(answer.toWellFormed().trim())
  const messages: RenderedMessage[] = []
  for (let start = 0, end = 0; start < text.length; start = end) {
    end = findEnd(text, start)
    const part = text.slice(start, end).trimEnd()
    const entities = blocks.flatMap(({ offset, length, ...block }) => {
      const from = Math.max(0, offset - start)
      const to = Math.min(part.length, offset + length - start)
      return part.slice(from, to).trim() === '' ? [] : [{ ...block, offset: from, length: to - from }]
    })
    if (part !== '') messages.push({ text: part, entities })
  }
  return messages
}

/** Removes the lines around fenced code, and returns where the code is in the remaining text. */
function readBlocks(markdown: string): { text: string; blocks: MessageEntity.PreMessageEntity[] } {
  const blocks: MessageEntity.PreMessageEntity[] = []
  let text = ''
  let fence: string | undefined
  for (const line of markdown.split('\n')) {
    // Three backticks may also be code within a line.
    const [, marks = '', info = ''] = /^ {0,3}(`{3,}|~{3,})([^`]*)$/.exec(line) ?? []
    if (fence === undefined && marks !== '') {
      const [language = ''] = info.trim().split(/\s/, 1)
      blocks.push({ type: 'pre', offset: text.length, length: 0, ...(language === '' ? {} : { language }) })
      fence = marks
    } else if (fence !== undefined && marks.startsWith(fence) && info.trim() === '') fence = undefined
    else {
      text += `${line}\n`
      const block = blocks.at(-1)
      if (fence !== undefined && block !== undefined) block.length = text.length - 1 - block.offset
    }
  }
  return { text, blocks }
}

/** Returns where to end the message that begins at `start`: after a line, else after a word, else between characters. */
function findEnd(text: string, start: number): number {
  const limit = start + MAX_LENGTH
  if (text.length <= limit) return text.length
  for (const separator of ['\n', ' ']) {
    const end = text.lastIndexOf(separator, limit - 1) + 1
    if (end > start) return end
  }
  return /[\ud800-\udbff]/.test(text.charAt(limit - 1)) ? limit - 1 : limit
}
