import { expect, test } from 'vitest'
import { chooseModel } from './choose-model.ts'

test.each([
  [
    'openai/gpt-5',
    'there is no key for the model "openai/gpt-5"; set OPENAI_API_KEY, or set AI_GATEWAY_API_KEY',
  ],
  ['anthropic/claude', 'set ANTHROPIC_API_KEY, or set AI_GATEWAY_API_KEY'],
  [
    'gpt-5',
    'name a model of OpenAI or Anthropic, for example "openai/gpt-5", or your own server with --base-url',
  ],
])('chooseModel() says which key the model %s lacks', (model, message) => {
  expect(() => chooseModel({ model: { model } }, {})).toThrow(message)
})

test.each([
  [{}, {}],
  [{ model: 'offline' }, {}],
  [{ model: 'llama3', baseUrl: 'http://127.0.0.1:11434/v1' }, {}],
  [{ model: 'nosuch/x' }, { AI_GATEWAY_API_KEY: 'key' }],
  [{ model: 'openai/gpt-5' }, { VERCEL_OIDC_TOKEN: 'token' }],
  [{ model: 'anthropic/claude', apiKey: 'key' }, {}],
])('chooseModel() returns the model of %j with %j', (model, environment) => {
  expect(chooseModel({ model }, environment)).toBeDefined()
})
