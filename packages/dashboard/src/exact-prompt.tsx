import type { ComponentChildren } from 'preact'
import type { ChatDetail, ChatMessage } from 'skillstoke/client'
import { plural } from './format.ts'

/** Renders everything that the next request to the model contains. */
export function ExactPrompt({ detail }: { readonly detail: ChatDetail }): ComponentChildren {
  const { system, tools, messages } = detail
  return (
    <>
      <h3>The exact prompt</h3>
      <details>
        <summary>System text, {plural(system.length, 'character')}</summary>
        <pre>{system}</pre>
      </details>
      <details>
        <summary>{plural(tools.length, 'tool')}</summary>
        {tools.map(({ name, description, inputSchema }) => (
          <section key={name} aria-label={`Tool ${name}`} class="message">
            <h4>{name}</h4>
            <pre>{description}</pre>
            <pre>{toJson(inputSchema)}</pre>
          </section>
        ))}
      </details>
      <details>
        <summary>{plural(messages.length, 'message')}</summary>
        {messages.map((message, index) => (
          <section key={index} aria-label={`Message ${index + 1}`} class="message">
            <h4>
              {index + 1} {message.role}
            </h4>
            {toParts(message).map(({ title, text }, part) => (
              <div key={part}>
                {title !== '' && <p class="step">{title}</p>}
                <pre>{text}</pre>
              </div>
            ))}
          </section>
        ))}
      </details>
    </>
  )
}

interface MessagePart {
  readonly title: string
  readonly text: string
}

/** Splits a message into its parts. Shows an unknown part as JSON, so that nothing is hidden. */
function toParts({ content }: ChatMessage): readonly MessagePart[] {
  if (typeof content === 'string') return [{ title: '', text: content }]
  return Array.isArray(content) ? content.map(toPart) : [{ title: '', text: toJson(content) }]
}

function toPart(part: unknown): MessagePart {
  const { type, text, toolName, input, output } = part as Readonly<Record<string, unknown>>
  if (type === 'text' && typeof text === 'string') return { title: '', text }
  if (type === 'tool-call') return { title: `calls ${String(toolName)}`, text: toJson(input) }
  if (type === 'tool-result') {
    const { value } = (output ?? {}) as { readonly value?: unknown }
    return {
      title: `result of ${String(toolName)}`,
      text: typeof value === 'string' ? value : toJson(output),
    }
  }
  return { title: String(type), text: toJson(part) }
}

function toJson(value: unknown): string {
  return JSON.stringify(value, undefined, 2)
}
