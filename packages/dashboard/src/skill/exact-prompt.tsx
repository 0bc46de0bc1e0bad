import type { ComponentChildren } from 'preact'
import type { ChatMessage } from 'skillstoke/client'
import { client } from '../client.ts'
import { Answer } from '../parts/answer.tsx'
import { plural } from '../parts/format.ts'
import { useLoaded } from '../parts/use-loaded.ts'

interface ExactPromptProps {
  /** Id of a conversation that was held on the page. */
  readonly id: string
  /** Any text that is different after each change of the conversation. */
  readonly version: string
}

/** Renders everything that the next request to the model contains. */
export function ExactPrompt({ id, version }: ExactPromptProps): ComponentChildren {
  const loaded = useLoaded(() => client.chat(id), [id, version])
  return (
    <Answer of={loaded}>
      {({ system, tools, messages }) => (
        <>
          <Part title={`System text, ${plural(system.length, 'character')}`} texts={[['', system]]} />
          <Part
            title={plural(tools.length, 'tool')}
            texts={tools.map(({ name, description, inputSchema }) => [
              name,
              `${description}\n\n${toJson(inputSchema)}`,
            ])}
          />
          <Part
            title={plural(messages.length, 'message')}
            texts={messages.flatMap((message, index) => toTexts(message, index + 1))}
          />
        </>
      )}
    </Answer>
  )
}

interface PartProps {
  readonly title: string
  readonly texts: readonly (readonly [title: string, text: string])[]
}

function Part({ title, texts }: PartProps): ComponentChildren {
  return (
    <details>
      <summary>{title}</summary>
      {texts.map(([name, text], index) => (
        <div key={index}>
          <b>{name}</b>
          <pre class="told">{text}</pre>
        </div>
      ))}
    </details>
  )
}

/** Splits a message into its parts. Shows an unknown part as JSON, so that nothing is hidden. */
function toTexts({ role, content }: ChatMessage, number: number): PartProps['texts'] {
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content]
  return parts.map(part => {
    if (typeof part === 'string') return [`${number} ${role}`, part]
    const { type, text, toolName, input, output } = part as Readonly<Record<string, unknown>>
    if (type === 'text' && typeof text === 'string') return [`${number} ${role}`, text]
    if (type === 'tool-call') return [`${number} ${role} calls ${String(toolName)}`, toJson(input)]
    if (type !== 'tool-result') return [`${number} ${role}`, toJson(part)]
    const { value } = (output ?? {}) as { readonly value?: unknown }
    return [
      `${number} ${role} answers ${String(toolName)}`,
      typeof value === 'string' ? value : toJson(output),
    ]
  })
}

function toJson(value: unknown): string {
  return JSON.stringify(value, undefined, 2)
}
