import { createSkillRuntime, MemorySource } from '@skillstoke/core'
import { expect, test } from 'vitest'
import { copilot } from '../copilot.ts'
import type { CopilotEvent } from './history.ts'

interface Merged {
  readonly sessionId?: string
  readonly tools?: readonly {
    readonly name: string
    readonly handler?: (input: object, call: { readonly toolCallId: string }) => Promise<string>
  }[]
  readonly onEvent?: (event: CopilotEvent) => void
}

test('a tool call that arrives twice, before the event of its start, is answered once', async () => {
  const source = new MemorySource({ label: 'mine' }, [
    { name: 'refund', description: 'Refunds an order.', body: 'Use form ONE.' },
  ])
  await using skills = await createSkillRuntime({ sources: [source] })
  using live = copilot(skills, { id: 'chat-1' })
  let merged: Merged = {}
  const session = { getEvents: () => Promise.resolve([]) }
  const open = (config: Merged): Promise<typeof session> => {
    merged = config
    return Promise.resolve(session)
  }
  await live.open(
    {
      start: () => Promise.resolve(),
      getSessionMetadata: () => Promise.resolve(undefined),
      createSession: open,
      resumeSession: async (_, config) => await open(config),
    },
    merged,
  )
  const load = merged.tools?.find(({ name }) => name === 'load_skill')
  let uses = 0
  skills.events.on('skill:used', () => void uses++)
  const answer = load?.handler?.({ name: 'refund' }, { toolCallId: 'call-1' })
  const repeated = load?.handler?.({ name: 'refund' }, { toolCallId: 'call-1' })
  merged.onEvent?.({ type: 'tool.execution_start', data: { toolCallId: 'call-1' } })
  expect(await answer).toContain('Use form ONE.')
  expect([await repeated, uses]).toEqual([await answer, 1])
})
