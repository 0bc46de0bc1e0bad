import { type ModelConfig, resolveModel } from '@skillstoke/agent'
import type { Config } from '../config/config.ts'
import { UsageError } from '../terminal/exit-code.ts'

/** Variables of the AI Gateway, which serves a model without a key of its provider. */
const GATEWAY_KEYS = ['AI_GATEWAY_API_KEY', 'VERCEL_OIDC_TOKEN']

/** Returns the model of the configuration. @throws {UsageError} when no variable contains a key for it */
export function chooseModel(
  { model: config }: Pick<Config, 'model'>,
  environment: NodeJS.ProcessEnv = process.env,
): ReturnType<typeof resolveModel> {
  const { model = 'offline', baseUrl, apiKey }: ModelConfig = config
  const [, provider] = /^(anthropic|openai)\/./.exec(model) ?? []
  const isServed =
    baseUrl !== undefined || model === 'offline' || (provider !== undefined && apiKey !== undefined)
  if (!isServed && GATEWAY_KEYS.every(name => !environment[name])) {
    const advice =
      provider === undefined
        ? 'name a model of OpenAI or Anthropic, for example "openai/gpt-5", or your own server with --base-url'
        : `set ${provider.toUpperCase()}_API_KEY`
    throw new UsageError(
      `there is no key for the model ${JSON.stringify(model)}; ${advice}, or set ${GATEWAY_KEYS[0]}`,
    )
  }
  return resolveModel(config)
}
