import { expect, test } from 'vitest'
import { aiSdkHarness } from './ai-sdk.ts'
import { aiSdkPageHarness } from './ai-sdk-page.ts'
import type { Harness } from './harness.ts'
import { anthropicHarness, genkitHarness, openaiChatHarness, openaiResponsesHarness } from './loop.ts'
import type { ModelRequest, Reply } from './model-server.ts'
import { openaiAgentsHarness, openaiAgentsResponsesHarness } from './openai-agents.ts'
import { piHarness } from './pi.ts'
import { referenceAgentHarness } from './reference-agent.ts'
import { strandsHarness } from './strands.ts'
import { workflowAgentHarness } from './workflow-agent.ts'
import { World } from './world.ts'

// What `docs/overlap-and-forks.md` says about a second run. The scenario "overlap" covers LangChain and Mastra.

type Outcome = 'ends' | 'is told' | RegExp

const CLOSED = /this turn (was dropped|is over)/
const BUSY = /Agent is already processing/

const CASES: readonly (readonly [Harness, first: Outcome, second: Outcome])[] = [
  [aiSdkHarness, CLOSED, 'is told'],
  [workflowAgentHarness, CLOSED, 'is told'],
  [aiSdkPageHarness, 'ends', 'is told'],
  [openaiChatHarness, CLOSED, 'is told'],
  [openaiResponsesHarness, CLOSED, 'is told'],
  [anthropicHarness, CLOSED, 'is told'],
  [genkitHarness, CLOSED, 'is told'],
  [openaiAgentsHarness, 'is told', 'ends'],
  [openaiAgentsResponsesHarness, 'is told', 'ends'],
  [strandsHarness, 'is told', BUSY],
  [piHarness, 'is told', BUSY],
  [referenceAgentHarness, 'is told', 'is told'],
]

const EDIT: Reply = { kind: 'call', name: 'edit', input: {} }
const DONE: Reply = { kind: 'text', text: 'Done.' }

test.each(CASES.map(([harness, ...outcomes]) => [harness.name, harness, ...outcomes] as const))(
  '%s: the outcomes of two runs at the same time, and the next turn knows of the change once',
  async (_name, harness, ...expected) => {
    await using world = await World.open()
    await using chat = await harness.open(world, {})
    await chat.say('Begin.')
    world.prepare(() => world.folder.writeSkill('maps'))
    world.server.play(EDIT, EDIT, DONE, DONE)
    const runs = await Promise.allSettled([chat.say('Question one.'), chat.say('Question two.')])
    const requests = [...world.server.requests]
    for (const [index, question] of ['Question one.', 'Question two.'].entries()) {
      const own = requests.findLast(({ text }) => text.includes(question))
      const [run, outcome] = [runs[index], expected[index]]
      if (outcome instanceof RegExp)
        expect(run).toMatchObject({ reason: { message: expect.stringMatching(outcome) } })
      else expect([run?.status, countNotices(own)]).toEqual(['fulfilled', outcome === 'is told' ? 1 : 0])
    }
    await chat.say('Next.')
    expect(countNotices(world.server.requests.at(-1))).toBe(1)
  },
)

function countNotices(request: ModelRequest | undefined): number {
  return (request?.text.split('added: maps').length ?? 1) - 1
}
