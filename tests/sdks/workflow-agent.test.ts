import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { countBrokenPrefixes } from './model-server.ts'
import { main } from './programs/workflow-agent.ts'
import { testHarness } from './test-harness.ts'
import { workflowAgentHarness } from './workflow-agent.ts'
import { World } from './world.ts'

testHarness(workflowAgentHarness)

describe('docs/sdks/workflow-agent.md', () => {
  afterEach(() => void vi.unstubAllEnvs())

  test('shows a program that learns of an edit in the middle of a turn, and continues in the next turn', async () => {
    await using world = await World.open()
    const { server, folder } = world
    vi.stubEnv('MODEL_URL', `${server.url}/v1`)
    server.beforeAnswer = async () => {
      if (server.requests.length === 2) folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
    }
    const load = (name: string) => ({ kind: 'call', name: 'skill', input: { name } }) as const
    server.play(load('refund'), load('orders'), { kind: 'text', text: 'Done.' })
    expect(await main(folder.path, ['Begin.', 'Again.'])).toEqual(['Done.', 'Done.'])
    const counts = server.requests.map(({ text }) => text.split('you loaded refund').length - 1)
    expect(counts).toEqual([0, 0, 1, 1])
    expect(countBrokenPrefixes(server.requests)).toBe(0)
  })

  test('shows the whole program', () => {
    const [, shown] = /```ts\n(.*?)```/s.exec(readFileSync('docs/sdks/workflow-agent.md', 'utf8')) ?? []
    expect(shown).toBe(readFileSync('tests/sdks/programs/workflow-agent.ts', 'utf8'))
  })
})
