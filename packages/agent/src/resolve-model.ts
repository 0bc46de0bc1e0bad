import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { checkOptions, type KnownOptions, quote } from '@skillstoke/core/internal'
import type { LanguageModel } from 'ai'
import { createOfflineModel } from './offline-model.ts'

/** A configuration that selects a model. */
export interface ModelConfig {
  /**
   * `offline` (the default) needs no server and no key. If `baseUrl` is set, any model except `offline` is a model of
   * that server. If `baseUrl` is not set, a value such as `openai/gpt-5` is resolved by the global provider of the
   * AI SDK.
   */
  readonly model?: string
  /** An OpenAI-compatible server, for example `http://127.0.0.1:11434/v1`. */
  readonly baseUrl?: string
  readonly apiKey?: string
}

const KNOWN: KnownOptions<ModelConfig> = { model: true, baseUrl: true, apiKey: true }

/**
 * Returns the model that a configuration names.
 * @throws {SkillError} INVALID_OPTION for an unknown option
 * @throws TypeError when `baseUrl` is set without a model, or is not an http URL
 *
 * @example
 * ```ts
 * import { resolveModel, SkillAgent } from '@skillstoke/agent'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const model = resolveModel({ model: 'qwen3', baseUrl: 'http://127.0.0.1:11434/v1' })
 * const agent = new SkillAgent({ skills, model })
 * console.log(agent.conversation('chat-1').messages) // prints []
 * ```
 */
export function resolveModel(config: ModelConfig = {}): LanguageModel {
  checkOptions('resolveModel()', config, KNOWN)
  const { model = 'offline', baseUrl, apiKey } = config
  if (baseUrl === undefined) return model === 'offline' ? createOfflineModel() : model
  if (config.model === undefined)
    throw new TypeError(`a model server (${baseUrl}) needs the name of a model, for example "llama3"`)
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol)) {
    throw new TypeError(
      `the model server ${quote(baseUrl)} is not an http URL; write, for example, "http://127.0.0.1:11434/v1"`,
    )
  }
  const provider = createOpenAICompatible({
    name: 'openai-compatible',
    baseURL: baseUrl,
    ...(apiKey === undefined ? {} : { apiKey }),
  })
  return provider(model)
}
