import { readFileSync } from 'node:fs'
import { genkitLoop } from '@skillstoke/adapters/loop'
import type { SkillRuntime } from '@skillstoke/core'
import type { MessageData, ModelResponseData } from 'genkit'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { main } from './examples/genkit.ts'
import { createGenkit, genkitHarness, toLoopTool } from './loop.ts'
import { countBrokenPrefixes, type Reply } from './model-server.ts'
import { testHarness } from './test-harness.ts'
import { World } from './world.ts'

testHarness(genkitHarness)

const LOAD: Reply = { kind: 'call', name: 'skill', input: { name: 'refund' } }
const EDIT: Reply = { kind: 'call', name: 'edit', input: {} }
const DONE: Reply = { kind: 'text', text: 'Done.' }

let world: World
let skills: SkillRuntime

beforeEach(async () => {
  world = await World.open()
  skills = await world.createSkills()
})

afterEach(async () => await world[Symbol.asyncDispose]())

function open(): ReturnType<typeof genkitLoop<MessageData>> {
  return genkitLoop<MessageData>(skills, { id: 'chat-1', tools: [toLoopTool(world.edit)] })
}

/** Runs a turn with a model that gives these answers, and returns what the last call received. */
async function play(...answers: readonly ModelResponseData[]): Promise<readonly MessageData[]> {
  const ai = createGenkit(world)
  let received: readonly MessageData[] = []
  let count = 0
  const model = ai.defineModel({ name: 'scripted', supports: { tools: true } }, async ({ messages }) => {
    received = messages
    return (
      answers[count++] ?? { finishReason: 'stop', message: { role: 'model', content: [{ text: 'Done.' }] } }
    )
  })
  const turn = await open().turn('Begin.')
  for (;;) {
    const { tools, ...request } = await turn.request()
    const answer = await ai.generate({ model, ...request, tools: tools.map(tool => ai.dynamicTool(tool)) })
    if (!(await turn.answer(answer))) return received
  }
}

describe('an answer of a model plugin', () => {
  const load = { toolRequest: { name: 'skill', input: { name: 'refund' } } }

  test('without the ids of its calls gets the results by name', async () => {
    const message: MessageData = {
      role: 'model',
      content: [load, { toolRequest: { name: 'edit', input: {} } }],
    }
    const received = await play({ finishReason: 'stop', message })
    expect(received.at(-1)).toEqual({
      role: 'tool',
      content: [
        { toolResponse: { name: 'skill', output: expect.stringContaining('form ONE') } },
        { toolResponse: { name: 'edit', output: 'Edited.' } },
      ],
    })
  })

  test('that was cut off runs no call', async () => {
    const edit = vi.fn<() => void>()
    world.prepare(edit)
    const content = [{ toolRequest: { name: 'edit', ref: 'call-1', input: '' } }]
    const received = await play({ finishReason: 'length', message: { role: 'model', content } })
    const output = 'the answer was cut off, so the call did not run'
    expect(received.at(-1)?.content).toEqual([{ toolResponse: { name: 'edit', ref: 'call-1', output } }])
    expect(edit).not.toHaveBeenCalled()
  })
})

test('a streamed answer continues with the same bytes', async () => {
  const ai = createGenkit(world)
  world.prepare(() => world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' }))
  world.server.play(LOAD, EDIT, DONE)
  const turn = await open().turn('Begin.')
  for (;;) {
    const { tools, ...request } = await turn.request()
    const dynamicTools = tools.map(tool => ai.dynamicTool(tool))
    const { response } = ai.generateStream({ model: 'provider/test-model', ...request, tools: dynamicTools })
    if (!(await turn.answer(await response))) break
  }
  const { requests } = world.server
  expect(requests).toHaveLength(3)
  expect(requests.at(-1)?.text.split('you loaded refund')).toHaveLength(2)
  expect(countBrokenPrefixes(requests)).toBe(0)
})

describe('docs/sdks/genkit.md', () => {
  afterEach(() => void vi.unstubAllEnvs())

  test('shows a program that loads a skill and returns the answer of the model', async () => {
    vi.stubEnv('MODEL_URL', `${world.server.url}/v1`)
    world.server.play(LOAD, DONE)
    expect(await main(world.folder.path, 'May I get a refund?')).toBe('Done.')
    expect(world.server.requests.at(-1)?.text).toContain('form ONE')
  })

  test('shows the whole program', () => {
    const [, shown] = /```ts\n(.*?)```/s.exec(readFileSync('docs/sdks/genkit.md', 'utf8')) ?? []
    expect(shown).toBe(readFileSync('tests/sdks/examples/genkit.ts', 'utf8'))
  })
})
