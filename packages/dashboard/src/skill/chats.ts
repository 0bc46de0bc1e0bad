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
  readonly stop?: (() => void) | undefined
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
export async function ask(skill: string, question: string, isInvoked = false): Promise<void> {
  const { id } = chatOf(skill)
  const controller = new AbortController()
  const stop = (): void => controller.abort()
  change(skill, chat => ({ ...chat, stop, turns: [...chat.turns, { question, isInvoked, events: [] }] }))
  // After the user started over, the events of this question no longer belong to the conversation.
  const update = (make: (chat: Chat) => Chat): void =>
    change(skill, chat => (chat.stop === stop ? make(chat) : chat))
  try {
    const request = { question, ...(id && { conversation: id }), ...(isInvoked && { skill }) }
    for await (const event of client.ask(request, { signal: controller.signal }))
      update(chat =>
        event.kind === 'started'
          ? { ...chat, id: event.conversation }
          : withTurn(chat, turn => ({ ...turn, events: merge(turn.events, event) })),
      )
  } catch (error) {
    const fault = controller.signal.aborted ? 'Stopped.' : describeFailure(error)
    update(chat => withTurn(chat, turn => ({ ...turn, fault })))
  } finally {
    update(chat => ({ ...chat, stop: undefined }))
  }
}

function change(skill: string, make: (chat: Chat) => Chat): void {
  chats.value = new Map(chats.value).set(skill, make(chatOf(skill)))
}

function withTurn({ turns, ...chat }: Chat, make: (turn: ChatTurn) => ChatTurn): Chat {
  return { ...chat, turns: [...turns.slice(0, -1), ...turns.slice(-1).map(make)] }
}

function merge(events: readonly ChatEvent[], event: ChatEvent): readonly ChatEvent[] {
  const last = events.at(-1)
  if (last === undefined || (event.kind !== 'text' && event.kind !== 'reasoning') || last.kind !== event.kind)
    return [...events, event]
  return [...events.slice(0, -1), { ...last, delta: last.delta + event.delta }]
}
