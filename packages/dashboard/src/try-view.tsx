import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { ChatRecord } from './chat-record.tsx'
import { ChatTurnView } from './chat-turn.tsx'
import { ask, type Chat, chatOf, isQuestionWanted, startOver } from './chats.ts'
import { sessions, status } from './store.ts'

interface TryViewProps {
  readonly name: string
}

/** Renders a conversation in which a person tries a skill. */
export function TryView({ name }: TryViewProps): ComponentChildren {
  const chat = chatOf(name)
  // Loads the record again after each step of the conversation, and after each change of a skill that it will be told.
  const version = JSON.stringify([
    chat.turns.length,
    chat.stop === undefined,
    sessions.value.find(({ id }) => id === chat.id),
  ])
  return (
    <div class="try">
      {chat.turns.length > 0 && (
        <div role="log" aria-label="Conversation" aria-busy={chat.stop !== undefined}>
          {chat.turns.map((turn, index) => (
            <ChatTurnView
              key={index}
              name={name}
              turn={turn}
              isRunning={chat.stop !== undefined && index === chat.turns.length - 1}
            />
          ))}
        </div>
      )}
      <QuestionForm name={name} chat={chat} />
      {chat.id !== undefined && <ChatRecord id={chat.id} version={version} />}
    </div>
  )
}

interface QuestionFormProps {
  readonly name: string
  readonly chat: Chat
}

function QuestionForm({ name, chat }: QuestionFormProps): ComponentChildren {
  const question = useSignal('')
  const isInvoked = useSignal(false)
  const box = useRef<HTMLTextAreaElement>(null)
  const isRunning = chat.stop !== undefined
  const canSend = !isRunning && (isInvoked.value || question.value.trim() !== '')

  const isWanted = isQuestionWanted.value
  useEffect(() => {
    if (!isWanted) return
    isQuestionWanted.value = false
    box.current?.focus()
  }, [isWanted])

  const send = (): void => {
    if (!canSend) return
    void ask(name, { question: question.value.trim(), isInvoked: isInvoked.value })
    question.value = ''
    box.current?.focus()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    // While an input method composes a character, Enter and Esc belong to the input method.
    if (event.isComposing) return
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault()
      send()
    } else if (event.key === 'Escape' && isRunning) {
      event.stopPropagation()
      chat.stop?.()
    }
  }

  return (
    <form
      class="ask"
      onSubmit={event => {
        event.preventDefault()
        send()
      }}
    >
      <p class="field">
        <label for="try-question">
          Question to the model <code>{status.value?.model}</code>
        </label>
        <textarea
          id="try-question"
          ref={box}
          rows={2}
          value={question.value}
          aria-describedby="try-hint"
          onInput={event => (question.value = event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        <small id="try-hint" class="note">
          Enter sends, Shift+Enter starts a new line, Esc cancels the answer.
          {status.value?.model === 'offline' &&
            ' The offline model follows simple rules; start dev with --model to try a real model.'}
        </small>
      </p>
      <p class="buttons">
        <button type="submit" disabled={!canSend}>
          Send
        </button>
        {isRunning && (
          <button type="button" onClick={() => chat.stop?.()}>
            Cancel
          </button>
        )}
        {chat.turns.length > 0 && (
          <button type="button" class="plain" onClick={() => startOver(name)}>
            New conversation
          </button>
        )}
        <label>
          <input
            type="checkbox"
            checked={isInvoked.value}
            onChange={event => (isInvoked.value = event.currentTarget.checked)}
          />{' '}
          Invoke with <code>/{name}</code>
        </label>
      </p>
    </form>
  )
}
