import { spawnSync } from 'node:child_process'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BIN, stokeBeside } from '../fixtures/cli.ts'
import { countBrokenPrefixes } from './model-server.ts'
import { referenceAgentHarness } from './reference-agent.ts'
import { testHarness } from './test-harness.ts'
import { World } from './world.ts'

testHarness(referenceAgentHarness)

describe('stoke chat with the key of a provider', () => {
  let world: World
  beforeEach(async () => {
    world = await World.open()
  })
  afterEach(async () => await world[Symbol.asyncDispose]())

  const toWords = (model: string): readonly string[] => [
    ...['chat', '--ask', 'Use refund.', '--model', model],
    ...['--root', world.folder.path, '--state', world.stateFolder.path],
  ]
  const keys = { ANTHROPIC_API_KEY: 'key-a', OPENAI_API_KEY: 'key-o' }

  test.each([
    ['anthropic/claude-test', 'anthropic', 'claude-test'],
    ['openai/gpt-test', 'responses', 'gpt-test'],
  ])('%s is called directly, and sees the result of its call', async (model, protocol, name) => {
    world.server.play(
      { kind: 'call', name: 'skill', input: { name: 'refund' } },
      { kind: 'text', text: 'With form ONE.' },
    )
    const baseUrl = `${world.server.url}/v1`
    const { status, stdout } = await stokeBeside(toWords(model), {
      cwd: world.stateFolder.path,
      env: { ...keys, ANTHROPIC_BASE_URL: baseUrl, OPENAI_BASE_URL: baseUrl },
    })
    expect([status, stdout]).toEqual([0, 'With form ONE.\n'])
    const { requests } = world.server
    expect(requests.map(request => [request.protocol, request.body['model']])).toEqual([
      [protocol, name],
      [protocol, name],
    ])
    expect(requests.at(-1)?.text).toContain('Refunds need form ONE.')
    // The whole history, and no reference to what a provider stores.
    expect(countBrokenPrefixes(requests)).toBe(0)
    expect(requests.at(-1)?.text).not.toContain('item_reference')
  })

  test.each(['anthropic', 'openai'])('names the package of %s if it is not installed', async provider => {
    world.stateFolder.write(
      'hide.cjs',
      `const Module = require('node:module')
const resolve = Module._resolveFilename
Module._resolveFilename = (name, ...rest) => resolve.call(Module, name.replace('@ai-sdk/${provider}', '@ai-sdk/hidden'), ...rest)`,
    )
    const hide = ['--require', world.stateFolder.at('hide.cjs')]
    const { status, stderr } = spawnSync(
      process.execPath,
      [...hide, BIN, ...toWords(`${provider}/some-model`)],
      { cwd: world.stateFolder.path, env: { ...process.env, ...keys }, encoding: 'utf8' },
    )
    expect(status).toBe(2)
    expect(stderr).toContain(
      `the model "${provider}/some-model" needs the package @ai-sdk/${provider}; run "npm install @ai-sdk/${provider}"`,
    )
  })
})
