'use client'

import { useChat } from '@ai-sdk/react'
import { type FormEvent, useState } from 'react'
import type { ChatMessage } from '../lib/tools'

export function Chat({ id, stored }: { readonly id: string; readonly stored: ChatMessage[] }) {
  const chat = useChat<ChatMessage>({ id, messages: stored })
  const [text, setText] = useState('')
  // The message of the user that the next submit replaces.
  const [messageId, setMessageId] = useState<string>()
  const isRunning = chat.status === 'submitted' || chat.status === 'streaming'

  const submit = (event: FormEvent): void => {
    event.preventDefault()
    void chat.sendMessage({ text, messageId })
    setText('')
    setMessageId(undefined)
  }
  const edit = (message: ChatMessage): void => {
    setMessageId(message.id)
    setText(message.parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n'))
  }

  return (
    <main>
      {chat.messages.map(message => (
        <article key={message.id} data-role={message.role}>
          {message.parts.map((part, index) => (
            <Part key={index} part={part} />
          ))}
          {message.role === 'user' && (
            <button type="button" disabled={isRunning} onClick={() => edit(message)}>
              Edit
            </button>
          )}
        </article>
      ))}
      {chat.error && <p role="alert">The answer failed. Regenerate it.</p>}
      <form onSubmit={submit}>
        <input aria-label="Message" value={text} onChange={event => setText(event.target.value)} />
        <button type="submit" disabled={isRunning || text === ''}>
          {messageId === undefined ? 'Send' : 'Replace'}
        </button>
        <button type="button" disabled={!isRunning} onClick={() => void chat.stop()}>
          Stop
        </button>
        <button
          type="button"
          disabled={isRunning || chat.messages.length === 0}
          onClick={() => void chat.regenerate()}
        >
          Regenerate
        </button>
      </form>
    </main>
  )
}

function Part({ part }: { readonly part: ChatMessage['parts'][number] }) {
  switch (part.type) {
    case 'text':
      return <p>{part.text}</p>
    case 'tool-findOrder':
      return <p>{part.state === 'output-available' ? part.output.status : 'Looks for the order ...'}</p>
    case 'data-skills':
      return <p>Skills: {part.data.join(', ')}</p>
    case 'steering-message':
      return <p>The skills changed.</p>
    default:
      return null
  }
}
