import { createOpenAI } from '@ai-sdk/openai'
import { Agent, type AgentInputItem, run } from '@openai/agents'
import { aiSdk } from '@skillstoke/adapters/ai-sdk'
import { openaiAgents } from '@skillstoke/adapters/openai-agents'
import { pi } from '@skillstoke/adapters/pi'
import type { SkillRuntime } from '@skillstoke/core'
import type { ModelMessage } from 'ai'
import { expect, test } from 'vitest'
import { countBrokenPrefixes, type ModelRequest, type Reply } from './model-server.ts'
import { chatModel } from './openai-agents.ts'
import { ask, createAgent } from './pi.ts'
import { answerPage, UseChat } from './use-chat.ts'
import { World } from './world.ts'

// The owner of a history can show a branch again that it took back before, as a page with two answers to one question.

const LOAD: Reply = { kind: 'call', name: 'skill', input: { name: 'refund' } }
const DONE: Reply = { kind: 'text', text: 'Done.' }

/** A history that its owner can replace. */
interface Owner {
  say(text: string): Promise<unknown>
  /** Returns a copy of the history. */
  copy(): unknown
  show(history: unknown): void
}

const OWNERS: Readonly<Record<string, (world: World, skills: SkillRuntime) => Owner>> = {
  'ui()': (world, skills) => {
    const model = createOpenAI({ baseURL: `${world.server.url}/v1`, apiKey: 'none' }).chat('test-model')
    const chat = aiSdk<ModelMessage>(skills, { id: 'chat-1', instructions: 'You help.' })
    const page = new UseChat({
      answer: async request => await answerPage({ chat, model, tools: {} }, request),
    })
    return {
      say: async text => await page.sendMessage({ text }),
      copy: () => structuredClone(page.messages),
      show: history => {
        page.messages = history as typeof page.messages
      },
    }
  },
  'pi()': (world, skills) => {
    const agent = createAgent(world)
    pi(skills, { agent, id: 'chat-1' })
    return {
      say: async text => await ask(agent, text),
      copy: () => structuredClone(agent.state.messages),
      show: history => {
        agent.state.messages = history as typeof agent.state.messages
      },
    }
  },
  'openaiAgents()': (world, skills) => {
    const chat = openaiAgents(skills, { id: 'chat-1' })
    const agent = chat.agent(
      new Agent({ name: 'helper', instructions: 'You help.', model: chatModel(world) }),
    )
    let items: AgentInputItem[] = []
    return {
      say: async text => {
        items = (await run(agent, [...items, { role: 'user', content: text }], chat.options())).history
      },
      copy: () => structuredClone(items),
      show: history => {
        items = history as AgentInputItem[]
      },
    }
  },
}

const count = ({ text }: ModelRequest, part: string): number => text.split(part).length - 1

/** Opens a history. `say` returns the last request of a turn. */
function open(name: string, world: World, skills: SkillRuntime) {
  const owner = OWNERS[name]?.(world, skills)
  if (owner === undefined) throw new Error(`no owner ${name}`)
  const say = async (text: string, ...replies: readonly Reply[]): Promise<ModelRequest> => {
    await skills.fresh()
    world.server.play(...replies, DONE)
    await owner.say(text)
    const last = world.server.requests.at(-1)
    if (last === undefined) throw new Error('no request')
    return last
  }
  return { owner, say }
}

test.each(Object.keys(OWNERS))(
  '%s: a branch that is shown again knows what it loaded and was told, and learns what changed since',
  async name => {
    await using world = await World.open()
    await using skills = await world.createSkills()
    const { owner, say } = open(name, world, skills)
    await say('Hello.')
    const trunk = owner.copy()
    world.folder.writeSkill('maps')
    const first = await say('Branch one.', LOAD)
    const one = owner.copy()
    owner.show(trunk)
    world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
    world.folder.writeSkill('plans')
    const second = await say('Branch two.')
    expect([count(second, 'added: plans'), count(second, 'you loaded refund')]).toEqual([1, 0])
    owner.show(one)
    const again = await say('Branch one, again.')
    expect(count(again, 'added: maps')).toBe(1)
    expect(count(again, 'added: plans')).toBe(1)
    expect(count(again, 'you loaded refund')).toBe(1)
    expect(countBrokenPrefixes([first, again])).toBe(0)
  },
)

test.each(Object.keys(OWNERS))(
  '%s: a load that was taken back does not come back with a later call of the same id',
  async name => {
    await using world = await World.open()
    await using skills = await world.createSkills()
    const { owner, say: sayNext } = open(name, world, skills)
    const say = async (...message: Parameters<typeof sayNext>): Promise<ModelRequest> => {
      world.server.requests.length = 0 // the server counts its requests for the ids
      return await sayNext(...message)
    }
    await say('Hello.')
    const trunk = owner.copy()
    await say('Question one.', LOAD)
    owner.show(trunk)
    await say('Question two.', { kind: 'call', name: 'skill', input: {} })
    world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
    expect(count(await say('Next.'), 'you loaded refund')).toBe(0)
  },
)
