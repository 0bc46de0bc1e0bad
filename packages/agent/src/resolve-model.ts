import { createRequire } from 'node:module'
import type { createAnthropic } from '@ai-sdk/anthropic'
import type { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { SkillError } from '@skillstoke/core'
import { checkOptions, type KnownOptions, quote } from '@skillstoke/core/internal'
import { defaultSettingsMiddleware, type LanguageModel, wrapLanguageModel } from 'ai'
import { createOfflineModel } from './offline-model.ts'

/** A configuration that selects a model. */
export interface ModelConfig {
  /**
   * `offline` (the default) needs no server and no key. If `baseUrl` is set, any model except `offline` is a model of
   * that server. Without `baseUrl`, `anthropic/...` and `openai/...` are models of that provider if `apiKey` is set. Other
   * values, such as `openai/gpt-5` without a key, are resolved by the global provider of the AI SDK.
   */
  readonly model?: string
  /** An OpenAI-compatible server, for example `http://127.0.0.1:11434/v1`. */
  readonly baseUrl?: string
  /** The key for `baseUrl`. Without `baseUrl`, the key for Anthropic or OpenAI. */
  readonly apiKey?: string
}

const KNOWN: KnownOptions<ModelConfig> = { model: true, baseUrl: true, apiKey: true }

/**
 * Returns the model that a configuration names.
 * @throws {SkillError} INVALID_OPTION for an unknown option, or if the npm package of the provider is not installed
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
  if (baseUrl === undefined)
    return model === 'offline' ? createOfflineModel() : (findDirect(model, apiKey) ?? model)
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

/** Returns the model of a provider that is called with its own key; `undefined` for all other models. */
function findDirect(model: string, apiKey: string | undefined): LanguageModel | undefined {
  const [, provider, name] = /^(anthropic|openai)\/(.+)$/.exec(model) ?? []
  if (apiKey === undefined || name === undefined) return undefined
  if (provider === 'anthropic') {
    const module = load('@ai-sdk/anthropic', model) as { readonly createAnthropic: typeof createAnthropic }
    return module.createAnthropic({ apiKey })(name)
  }
  const module = load('@ai-sdk/openai', model) as { readonly createOpenAI: typeof createOpenAI }
  // Otherwise the history refers to answers that OpenAI stores for 30 days.
  const settings = { providerOptions: { openai: { store: false } } }
  return wrapLanguageModel({
    model: module.createOpenAI({ apiKey })(name),
    middleware: defaultSettingsMiddleware({ settings }),
  })
}

/** Loads an optional package, so that only its users install it. */
function load(name: string, model: string): unknown {
  try {
    return createRequire(import.meta.url)(name)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw cause
    const fault = `the model ${quote(model)} needs the package ${name}; run "npm install ${name}"`
    throw new SkillError('INVALID_OPTION', fault, { cause })
  }
}
