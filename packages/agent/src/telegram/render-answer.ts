import { type MarkdownLine, splitMessage, toText } from './split-message.ts'
import type { TelegramEntity } from './telegram-bot.ts'

/** One message of an answer. */
export interface RenderedMessage {
  readonly text: string
  /** The blocks of code in the text. */
  readonly entities: TelegramEntity[]
}

/**
 * Splits an answer into messages, and turns fenced blocks of Markdown into blocks of code. Keeps all other text as it
 * is, because text that looks like Markdown may have another meaning.
 */
export function renderAnswer(answer: string): readonly RenderedMessage[] {
  return splitMessage(answer.toWellFormed().trim()).flatMap(lines => {
    const hasCode = lines.some(({ kind, text }) => kind === 'code' && text.trim() !== '')
    const message = hasCode ? renderBlocks(lines) : { text: toText(lines).trim(), entities: [] }
    return message.text === '' ? [] : [message]
  })
}

function renderBlocks(lines: readonly MarkdownLine[]): RenderedMessage {
  const entities: TelegramEntity[] = []
  let text = ''
  let isInside = false
  const append = (line: string): void => {
    text += text === '' ? line : `\n${line}`
  }
  for (const { text: line, kind, fence } of lines) {
    if (kind === 'text' && (text !== '' || line.trim() !== '')) append(line)
    if (kind === 'open') isInside = false
    if (kind !== 'code') continue
    const block = isInside ? entities.at(-1) : undefined
    append(line)
    isInside = true
    if (block !== undefined) block.length = text.length - block.offset
    else
      entities.push({
        ...{ type: 'pre', offset: text.length - line.length, length: line.length },
        ...(fence?.language === '' || fence === undefined ? {} : { language: fence.language }),
      })
  }
  const shown = text.trimEnd()
  const visible = entities
    .map(entity => ({ ...entity, length: Math.min(entity.length, shown.length - entity.offset) }))
    .filter(({ offset, length }) => shown.slice(offset, offset + length).trim() !== '')
  return { text: shown, entities: visible }
}
