import { signal } from '@preact/signals'
import type { ChatEvent } from 'skillstoke/client'
import { client } from '../client.ts'
import { describeFailure } from '../parts/describe-failure.ts'

/** One question of a playground conversation, and the events that followed. */
export interface ChatTurn {
  readonly question: string
  /** Whether the question invoked the skill by its slash command. */
  readonly isInvoked: boolean
  /** The events in order. Adjacent text events are merged into one event. */
  readonly events: readonly ChatEvent[]
  /** Why the request failed, or was stopped. */
  readonly fault?: string
}

/** The playground conversation beside one skill. */
export interface Chat {
  /** Id of the conversation on the server. Absent before the first question. */
  readonly id?: string
  readonly turns: readonly ChatTurn[]
  /** Stops the answer that is being written. */
  readonly stop?: () => void
}

const EMPTY: Chat = { turns: [] }

/** The conversation beside each skill. They stay here, so that an answer continues while the user reads another skill. */
const chats = signal<ReadonlyMap<string, Chat>>(new Map())

export function chatOf(skill: string): Chat {
  return chats.value.get(skill) ?? EMPTY
}

/** Starts a new conversation with the next question. Stops the answer that is being written. */
export function startOver(skill: string): void {
  chatOf(skill).stop?.()
  change(skill, () => EMPTY)
}

/** Asks a question in the conversation beside a skill. */
export async function ask(
  skill: string,
  { question, isInvoked }: Pick<ChatTurn, 'question' | 'isInvoked'>,
): Promise<void> {
  const { id } = chatOf(skill)
  const controller = new AbortController()
  const { signal: stopped } = controller
  const stop = (): void => controller.abort()
  change(skill, chat => ({ ...chat, stop, turns: [...chat.turns, { question, isInvoked, events: [] }] }))
  // After the user started over, the events of this question no longer belong to the conversation.
  const onEvent = (event: ChatEvent): void =>
    change(skill, chat => (chat.stop === stop ? withEvent(chat, event) : chat))
  try {
    const request = {
      question,
      ...(id === undefined ? {} : { conversation: id }),
      ...(isInvoked ? { skill } : {}),
    }
    for await (const event of client.ask(request, { signal: stopped })) onEvent(event)
    change(skill, chat => (chat.stop === stop ? withoutStop(chat) : chat))
  } catch (error) {
    const fault = stopped.aborted ? 'Stopped.' : describeFailure(error)
    change(skill, chat =>
      chat.stop === stop ? withoutStop(withTurn(chat, turn => ({ ...turn, fault }))) : chat,
    )
  }
}

function change(skill: string, make: (chat: Chat) => Chat): void {
  chats.value = new Map(chats.value).set(skill, make(chatOf(skill)))
}

function withoutStop({ id, turns }: Chat): Chat {
  return id === undefined ? { turns } : { id, turns }
}

function withTurn(chat: Chat, make: (turn: ChatTurn) => ChatTurn): Chat {
  const last = chat.turns.at(-1)
  return last === undefined ? chat : { ...chat, turns: [...chat.turns.slice(0, -1), make(last)] }
}

function withEvent(chat: Chat, event: ChatEvent): Chat {
  if (event.kind === 'started') return { ...chat, id: event.conversation }
  return withTurn(chat, turn => ({ ...turn, events: merge(turn.events, event) }))
}

function merge(events: readonly ChatEvent[], event: ChatEvent): readonly ChatEvent[] {
  const last = events.at(-1)
  if (last === undefined || (event.kind !== 'text' && event.kind !== 'reasoning') || last.kind !== event.kind)
    return [...events, event]
  return [...events.slice(0, -1), { ...last, delta: last.delta + event.delta }]
}
