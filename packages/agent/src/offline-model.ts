import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import { decideOffline } from './offline-mind.ts'

/**
 * Creates a rule-based model that needs no network and no key. The model loads the skill that matches the user's words
 * best, and answers with the newest text of that skill. If the model has the tools to write skills, it creates a skill
 * on request ("Create a skill called x: ..."). Demonstrations and tests with this model give the same result each time.
 *
 * @example
 * ```ts
 * import { createOfflineModel } from '@skillstoke/agent'
 * import { generateText } from 'ai'
 *
 * const { text } = await generateText({ model: createOfflineModel(), prompt: 'Hello.' })
 * console.log(text.length > 0) // prints true
 * ```
 */
export function createOfflineModel(): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'skillstoke',
    modelId: 'offline',
    supportedUrls: {},
    doGenerate: async options => generate(options),
    doStream: async options => {
      const { content, finishReason, usage } = generate(options)
      const parts: LanguageModelV4StreamPart[] = [{ type: 'stream-start', warnings: [] }]
      for (const part of content) parts.push(...toStreamParts(part))
      parts.push({ type: 'finish', finishReason, usage })
      return { stream: ReadableStream.from(parts) }
    },
  }
}

function generate(options: LanguageModelV4CallOptions): LanguageModelV4GenerateResult {
  options.abortSignal?.throwIfAborted()
  const tools = (options.tools ?? []).map(tool => tool.name)
  const decision = decideOffline(options.prompt, tools)
  const isCall = decision.kind === 'call'
  const content: LanguageModelV4Content = isCall
    ? {
        type: 'tool-call',
        toolCallId: decision.callId,
        toolName: decision.tool,
        input: JSON.stringify(decision.input),
      }
    : { type: 'text', text: decision.text }
  const input = JSON.stringify(options.prompt).length
  return {
    content: [content],
    finishReason: { unified: isCall ? 'tool-calls' : 'stop', raw: undefined },
    // Counts four characters as one token, because this model has no tokenizer.
    usage: {
      inputTokens: {
        total: Math.ceil(input / 4),
        noCache: undefined,
        cacheRead: undefined,
        cacheWrite: undefined,
      },
      outputTokens: {
        total: Math.ceil(JSON.stringify(content).length / 4),
        text: undefined,
        reasoning: undefined,
      },
    },
    warnings: [],
  }
}

function toStreamParts(part: LanguageModelV4Content): LanguageModelV4StreamPart[] {
  if (part.type === 'tool-call') return [part]
  if (part.type !== 'text') return []
  const words = part.text.match(/\S+\s*|\s+/g) ?? []
  return [
    { type: 'text-start', id: 'answer' },
    ...words.map((delta): LanguageModelV4StreamPart => ({ type: 'text-delta', id: 'answer', delta })),
    { type: 'text-end', id: 'answer' },
  ]
}
