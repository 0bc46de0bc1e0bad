import type { MastraMessage, MastraPromptMessage, MastraSignal } from './sdk.ts'
import { MARK_KEY, type Mark } from './thread.ts'

interface PromptPart {
  readonly type: string
  readonly text?: unknown
  readonly toolCallId?: unknown
}

const NOTICE_TAG = 'skills_update'
const LOADED_TAG = 'loaded_skills'

const NOTICE = new RegExp(`^<${NOTICE_TAG} generation="(\\w+)">([\\s\\S]*)</${NOTICE_TAG}>$`)
const SIGNAL = new RegExp(`^<(${NOTICE_TAG}|${LOADED_TAG})[ >][\\s\\S]*</\\1>$`)

/** Returns a signal with a notice. Mastra renders the tag, so the contents are only the lines in the tag. */
export function toNoticeSignal(notice: string, mark: Mark): MastraSignal {
  const [, generation = '', contents = notice] = NOTICE.exec(notice) ?? []
  return toSignal(NOTICE_TAG, contents, mark, { generation })
}

/** Returns a signal with the instructions of skills. */
export function toLoadedSignal(text: string, mark: Mark): MastraSignal {
  return toSignal(LOADED_TAG, `\n${text}\n`, mark, {})
}

function toSignal(
  tagName: string,
  contents: string,
  mark: Mark,
  attributes: Record<string, string>,
): MastraSignal {
  return { type: 'reactive', tagName, attributes, contents, metadata: { [MARK_KEY]: mark } }
}

/** Returns the ids of messages that consist of another conversation's notices or loaded skills. */
export function findForeign(messages: readonly MastraMessage[]): string[] {
  const isForeign = ({ role, content: { parts } }: MastraMessage): boolean =>
    role === 'user' &&
    parts.length > 0 &&
    parts.every(({ text }) => typeof text === 'string' && SIGNAL.test(text))
  return messages.filter(isForeign).map(({ id }) => id)
}

const CHARACTERS: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&amp;': '&' }

/** Undoes Mastra's escaping in signals, so that the model receives code in instructions as the author wrote it. */
export function unescapeSignals(prompt: readonly MastraPromptMessage[]): MastraPromptMessage[] {
  return prompt.map(message => {
    if (message.role !== 'user' || !Array.isArray(message.content)) return message
    const content = (message.content as readonly PromptPart[]).map(part =>
      typeof part.text === 'string' && SIGNAL.test(part.text)
        ? { ...part, text: part.text.replace(/&(?:lt|gt|amp);/g, entity => CHARACTERS[entity] ?? entity) }
        : part,
    )
    return { ...message, content }
  })
}

/** Returns true if a prompt contains all texts and all answers to tool calls. */
export function hasEvidence(prompt: readonly MastraPromptMessage[], evidence: readonly string[]): boolean {
  const parts = prompt.flatMap(({ content }) =>
    Array.isArray(content) ? (content as readonly PromptPart[]) : [],
  )
  const calls = new Set(parts.map(({ toolCallId }) => toolCallId))
  const texts = parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : []))
  return evidence.every(each => calls.has(each) || texts.some(text => text.includes(each)))
}
