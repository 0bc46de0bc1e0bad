import type { ComponentChildren } from 'preact'
import type { ChatEvent } from 'skillstoke/client'
import { Folded } from '../parts/card.tsx'
import { formatCount, plural, shortDigest } from '../parts/format.ts'
import type { ChatTurn } from './chats.ts'
import { Markdown } from './lazy-markdown.tsx'
import { describeUsage } from './token-usage.ts'

interface ChatTurnProps {
  /** The skill beside the conversation. */
  readonly name: string
  readonly turn: ChatTurn
  readonly isRunning: boolean
}

/** Renders a question, the events that followed, and the answer. */
export function ChatTurnView({ name, turn, isRunning }: ChatTurnProps): ComponentChildren {
  const { question, isInvoked, events, fault } = turn
  return (
    <article>
      <p class="question">
        <strong>You</strong> {isInvoked && <code>/{name}</code>} {question}
      </p>
      {events.map((event, index) => (
        <EventView key={index} event={event} isLast={isRunning && index === events.length - 1} />
      ))}
      {isRunning && events.at(-1)?.kind !== 'text' && <p class="s m">Waiting for the model …</p>}
      {fault !== undefined && <p role="alert">{fault}</p>}
    </article>
  )
}

interface EventProps {
  readonly event: ChatEvent
  /** Whether the event is the last one, and its text may still grow. */
  readonly isLast: boolean
}

function EventView({ event, isLast }: EventProps): ComponentChildren {
  switch (event.kind) {
    case 'text':
      // Markdown is parsed once, when the text is complete.
      return isLast ? <p class="growing">{event.delta}</p> : <Markdown text={event.delta} />
    case 'reasoning':
      return <FoldedText title="Reasoning" text={event.delta} />
    case 'skill-invoked':
      return (
        <p class="s m">
          Loaded {event.name} <code>{shortDigest(event.revision)}</code> by its slash command
        </p>
      )
    case 'skills-updated':
      return (
        <FoldedText
          title={`Received a notice of changed skills, +${formatCount(event.update.tokens)} tokens (estimated)`}
          text={event.update.text}
          isOpen
        />
      )
    case 'model-call':
      if (event.prefix.isUnchanged) return null
      return <p role="alert">The prefix changed, so the provider's cache is lost.</p>
    case 'tool-call':
      return (
        <p class="s m">
          Calls <code>{event.name}</code> <code>{JSON.stringify(event.input)}</code>
        </p>
      )
    case 'tool-result': {
      const { text, isError } = readOutput(event.output)
      return (
        <FoldedText title={`${isError ? 'Error' : 'Answer'} of ${event.name}`} text={text} isOpen={isError} />
      )
    }
    case 'finish':
      return (
        <p class="s m">
          {plural(event.steps, 'model call')}, {describeUsage(event.usage)}
          {event.hasReachedLimit && '; stopped at the maximum number of model calls'}
        </p>
      )
    case 'failed':
      return (
        <p role="alert">
          {event.message} <code>{event.code}</code>
        </p>
      )
    case 'started':
    case 'model-answer':
    case 'compacted':
      return null
    default:
      return event satisfies never
  }
}

interface FoldedTextProps {
  readonly title: string
  readonly text: string
  readonly isOpen?: boolean
}

function FoldedText({ text, ...rest }: FoldedTextProps): ComponentChildren {
  return <Folded {...rest}>{() => <pre>{text}</pre>}</Folded>
}

function readOutput(output: unknown): { readonly text: string; readonly isError: boolean } {
  const { text, isError } = (output ?? {}) as { readonly text?: unknown; readonly isError?: unknown }
  return {
    text: typeof text === 'string' ? text : JSON.stringify(output, undefined, 2),
    isError: isError === true,
  }
}
