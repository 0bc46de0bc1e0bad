import type { Logger, Skill } from '@skillstoke/core'
import { ConversationBusyError } from '../conversation-store.ts'
import type { SkillAgent } from '../skill-agent.ts'
import { type AttachmentOptions, readAttachment } from './attachment.ts'
import {
  type ChatCommand,
  listInvocable,
  MAX_DESCRIPTION_LENGTH,
  type OwnCommand,
  readCommand,
  toDescription,
} from './chat-command.ts'
import { type ChatPlace, toConversationId } from './chat-place.ts'
import type { ChatSender } from './chat-sender.ts'
import { CHAT_TEXTS } from './chat-texts.ts'
import type { ChatTurns } from './chat-turns.ts'
import type { Incoming } from './read-update.ts'
import { resetConversation } from './reset-conversation.ts'

export interface ChatResponderParts {
  readonly agent: SkillAgent
  readonly sender: ChatSender
  readonly turns: ChatTurns
  readonly logger: Logger
  /** The commands that other handlers answer. */
  readonly reserved: readonly string[]
  /** Absent if files are refused. */
  readonly attachments: AttachmentOptions | undefined
}

/** Decides what an update asks for. The caller keeps the order within a chat. */
export class ChatResponder {
  readonly #parts: ChatResponderParts

  constructor(parts: ChatResponderParts) {
    this.#parts = parts
  }

  /** Answers an update. Never rejects. */
  async respond(incoming: Incoming, username: string): Promise<void> {
    const { sender, logger } = this.#parts
    const { place } = incoming
    try {
      await this.#handle(incoming, username)
    } catch (error) {
      const conversation = toConversationId(place)
      logger.warn('a message has no answer', { error, conversation })
      await sender.say(place, toSentence(error)).catch((failure: unknown) => {
        logger.error('an answer could not be sent', { error: failure, conversation })
      })
    }
  }

  async #handle(incoming: Incoming, username: string): Promise<void> {
    const { sender, turns, attachments } = this.#parts
    const { place, messageId } = incoming
    switch (incoming.kind) {
      case 'text':
        return await this.#handleText(place, incoming.text, username)
      case 'file':
        return await this.#handleFile(incoming, username)
      case 'press':
        return await turns.decide(place, messageId, incoming)
      case 'edit':
        return await sender.say(place, CHAT_TEXTS.edited, messageId)
      case 'unsupported':
        return await sender.say(place, CHAT_TEXTS.unsupported(attachments !== undefined), messageId)
      default:
        incoming satisfies never
    }
  }

  async #handleText(place: ChatPlace, text: string, username: string): Promise<void> {
    const { sender, turns } = this.#parts
    const command = await this.#readCommand(place, text, username)
    switch (command.kind) {
      case 'own':
        return await this.#runOwn(place, command.name)
      case 'unknown':
        return await sender.say(place, CHAT_TEXTS.unknownCommand(command.word))
      case 'skill':
        return await turns.run(place, command.text)
      case 'none':
        return await turns.run(place, text)
      default:
        command satisfies never
    }
  }

  async #runOwn(place: ChatPlace, name: OwnCommand): Promise<void> {
    const { agent, sender, turns } = this.#parts
    switch (name) {
      case 'start':
        return await sender.say(place, CHAT_TEXTS.start)
      case 'skills':
        return await this.#listSkills(place)
      case 'retry':
        return await turns.retry(place)
      case 'reset': {
        await turns.closeQuestion(place)
        const kept = await resetConversation(agent, toConversationId(place))
        return await sender.say(place, kept === undefined ? CHAT_TEXTS.alreadyEmpty : CHAT_TEXTS.reset)
      }
      default:
        name satisfies never
    }
  }

  async #listSkills(place: ChatPlace): Promise<void> {
    const { sender, reserved } = this.#parts
    const invocable = listInvocable(await this.#readSkills(place), reserved)
    const lines = invocable.map(
      ({ skill, command }) => `/${command} - ${toDescription(skill, MAX_DESCRIPTION_LENGTH)}`,
    )
    await sender.sendAnswer(place, lines.length === 0 ? CHAT_TEXTS.noSkills : lines.join('\n'))
  }

  async #handleFile(incoming: Incoming & { readonly kind: 'file' }, username: string): Promise<void> {
    const { sender, turns, logger, attachments } = this.#parts
    const { place, messageId, sizes, caption } = incoming
    if (attachments === undefined) {
      await sender.say(place, CHAT_TEXTS.unsupported(false), messageId)
      return
    }
    const command = await this.#readCommand(place, caption, username)
    const text = command.kind === 'skill' ? command.text : caption
    const attachment = await sender.whileTyping(
      place,
      async () => await readAttachment(sizes, text, attachments),
    )
    if ('parts' in attachment) {
      await turns.run(place, attachment.parts)
      return
    }
    const { refusal, error } = attachment
    if (error !== undefined)
      logger.warn('a file could not be read', { error, conversation: toConversationId(place) })
    await sender.say(place, refusal, messageId)
  }

  async #readCommand(place: ChatPlace, text: string, username: string): Promise<ChatCommand> {
    if (!text.startsWith('/')) return { kind: 'none' }
    const skills = await this.#readSkills(place)
    return readCommand(text, username, skills, listInvocable(skills, this.#parts.reserved))
  }

  /** Returns the newest skills that the conversation may use, including the skills that it wrote. */
  async #readSkills(place: ChatPlace): Promise<readonly Skill[]> {
    const { agent, turns } = this.#parts
    const { skills, scope } = agent.options
    const { session } = await turns.open(place)
    const reader = skills.forConversation({
      id: session.conversation,
      ...(scope === undefined ? {} : { scope }),
    })
    return (await reader.fresh()).list().filter(({ name }) => reader.isInScope(name))
  }
}

function toSentence(error: unknown): string {
  return error instanceof ConversationBusyError ? CHAT_TEXTS.busy(error.remainingMs) : CHAT_TEXTS.failed
}
