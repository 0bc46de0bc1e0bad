import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { checkOptions, type KnownOptions } from '@skillstoke/core/internal'
import type { LanguageModel } from 'ai'
import { createOfflineModel } from './offline-model.ts'

/** Which model to use, as plain configuration. */
export interface ModelConfig {
  /**
   * `offline` (the default) needs nothing. With `baseUrl` it is a model of that server; otherwise a string of the AI
   * SDK such as `openai/gpt-5`, resolved by its global provider.
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
 * @throws {TypeError} when a server is given without a model, or its URL cannot be one
 */
export function resolveModel(config: ModelConfig = {}): LanguageModel {
  checkOptions('resolveModel()', config, KNOWN)
  const { model = 'offline', baseUrl, apiKey } = config
  if (baseUrl === undefined) return model === 'offline' ? createOfflineModel() : model
  if (config.model === undefined)
    throw new TypeError(`a model server (${baseUrl}) needs the name of a model, for example "llama3"`)
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol)) {
    throw new TypeError(
      `the model server ${JSON.stringify(baseUrl)} is not an http URL; write, for example, "http://127.0.0.1:11434/v1"`,
    )
  }
  const provider = createOpenAICompatible({
    name: 'openai-compatible',
    baseURL: baseUrl,
    ...(apiKey === undefined ? {} : { apiKey }),
  })
  return provider(model)
}
