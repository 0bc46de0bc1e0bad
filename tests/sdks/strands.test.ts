import { readFileSync } from 'node:fs'
import { type StrandsOptions, type StrandsPlugin, strands } from '@skillstoke/adapters/strands'
import type { SkillRuntime } from '@skillstoke/core'
import * as sdk from '@strands-agents/sdk'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { main } from './examples/strands.ts'
import { addedText, countBrokenPrefixes, type ModelRequest, type Reply } from './model-server.ts'
import {
  anthropicModel,
  chatModel,
  createAgent,
  createSessionManager,
  responsesModel,
  strandsAnthropicHarness,
  strandsHarness,
  strandsResponsesHarness,
} from './strands.ts'
import { strandsSkillsHarness } from './strands-skills.ts'
import { testHarness } from './test-harness.ts'
import { World } from './world.ts'

for (const each of [strandsHarness, strandsResponsesHarness, strandsAnthropicHarness, strandsSkillsHarness])
  testHarness(each)

type Live = StrandsPlugin<sdk.ToolResultBlock>
type Options = Omit<StrandsOptions<sdk.ToolResultBlock>, 'sdk' | 'id'>

const DONE: Reply = { kind: 'text', text: 'Done.' }
const EDIT: Reply = { kind: 'call', name: 'edit', input: {} }
const FAIL: Reply = { kind: 'status', status: 400 }
const load = (name: string): Reply => ({ kind: 'call', name: 'skill', input: { name } })

function countText(request: ModelRequest | undefined, text: string): number {
  return (request?.text.split(text).length ?? 1) - 1
}

function addMaps(world: World): void {
  world.prepare(() => world.folder.writeSkill('maps'))
}

function editRefund(world: World): void {
  world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
}

/** A world with an open runtime and the plugin `chat-1`. */
class Chat implements AsyncDisposable {
  readonly world: World
  readonly skills: SkillRuntime
  readonly live: Live

  private constructor(world: World, skills: SkillRuntime, live: Live) {
    this.world = world
    this.skills = skills
    this.live = live
  }

  static async open(options: Options = {}): Promise<Chat> {
    const world = await World.open()
    const skills = await world.createSkills()
    return new Chat(world, skills, strands(skills, { sdk, id: 'chat-1', ...options }))
  }

  get requests(): ModelRequest[] {
    return this.world.server.requests
  }

  get last(): ModelRequest | undefined {
    return this.requests.at(-1)
  }

  agent(config: sdk.AgentConfig = {}): sdk.Agent {
    return createAgent(this.world, this.live, config)
  }

  play(...replies: readonly Reply[]): void {
    this.world.server.play(...replies)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world[Symbol.asyncDispose]()
  }
}

describe('the hooks of the host', () => {
  test('a hook of the host that cancels a tool call wins', async () => {
    await using chat = await Chat.open({ allowedTools: 'enforce' })
    chat.world.folder.write('strict/SKILL.md', strictSkill())
    const agent = chat.agent()
    agent.addHook(sdk.BeforeToolCallEvent, event => {
      if (event.toolUse.name === 'edit') event.cancel = 'No edits on Sundays.'
    })
    chat.play(load('strict'), EDIT, DONE)
    await agent.invoke('Begin.')
    expect(chat.last?.text).toContain('No edits on Sundays.')
    expect(chat.last?.text).not.toContain('may not be called')
  })

  test('a message that a hook appends before the model call stays before the notice', async () => {
    await using chat = await Chat.open()
    addMaps(chat.world)
    const agent = chat.agent()
    agent.addHook(sdk.BeforeModelCallEvent, ({ agent: { messages } }) => {
      if (messages.length === 3)
        messages.push(new sdk.Message({ role: 'user', content: [new sdk.TextBlock('Be brief.')] }))
    })
    chat.play(EDIT, DONE)
    await agent.invoke('Begin.')
    const added = addedText(chat.requests[0], chat.requests[1] as ModelRequest)
    expect(added.indexOf('Be brief.')).toBeGreaterThan(0)
    expect(added.indexOf('added: maps')).toBeGreaterThan(added.indexOf('Be brief.'))
  })

  test('a cancelled model call gets no notice, and the next call gets it once', async () => {
    await using chat = await Chat.open()
    const agent = chat.agent()
    let cancels = false
    agent.addHook(sdk.BeforeModelCallEvent, event => {
      if (cancels) event.cancel = 'Not now.'
    })
    await agent.invoke('Begin.')
    chat.world.folder.writeSkill('maps')
    cancels = true
    await agent.invoke('Again.')
    expect(JSON.stringify(agent.messages)).not.toContain('maps')
    cancels = false
    await agent.invoke('Once more.')
    expect(countText(chat.last, 'added: maps')).toBe(1)
  })

  test('the blocks of a system prompt stay, and a cache point at the end covers the catalog', async () => {
    await using chat = await Chat.open()
    const systemPrompt = [new sdk.TextBlock('You help.'), new sdk.CachePointBlock({ cacheType: 'default' })]
    const agent = chat.agent({ model: anthropicModel(chat.world), systemPrompt })
    await agent.invoke('Begin.')
    const { system } = chat.last?.body ?? {}
    const [own, catalog, ...others] = system as { text: string; cache_control?: object }[]
    expect(own).toEqual({ type: 'text', text: 'You help.' })
    expect(catalog?.text.trim()).toBe(chat.live.session.catalog)
    expect(catalog?.cache_control).toEqual({ type: 'ephemeral' })
    expect(others).toEqual([])
  })

  test('the option "sdk" needs only eight exports of the SDK', async () => {
    await using chat = await Chat.open()
    const { BeforeInvocationEvent, AfterInvocationEvent } = sdk
    const { BeforeModelCallEvent, BeforeToolCallEvent, Message, TextBlock, ToolResultBlock } = sdk
    const events = { BeforeInvocationEvent, AfterInvocationEvent }
    const others = { BeforeModelCallEvent, BeforeToolCallEvent, Message, TextBlock, ToolResultBlock }
    using live = strands(chat.skills, { sdk: { ...events, ...others }, id: 'chat-2' })
    addMaps(chat.world)
    chat.play(EDIT, DONE)
    await createAgent(chat.world, live).invoke('Begin.')
    expect(chat.last?.text).toContain('added: maps')
  })

  test('a missing export of the SDK is named', async () => {
    await using chat = await Chat.open()
    const { AfterInvocationEvent: _, ...others } = sdk
    const incomplete = others as unknown as typeof sdk
    const message = /"sdk" has no AfterInvocationEvent/
    expect(() => strands(chat.skills, { sdk: incomplete, id: 'chat-2' })).toThrow(message)
  })

  test('a tool of the host with the name of a skill tool is refused', async () => {
    await using chat = await Chat.open()
    const skill = sdk.tool({
      name: 'skill',
      description: 'Mine.',
      inputSchema: z.object({}),
      callback: () => '',
    })
    const calling = chat.agent({ tools: [skill] }).invoke('Begin.')
    await expect(calling).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  })

  test('a plugin that already has an agent is refused', async () => {
    await using chat = await Chat.open()
    await chat.agent().invoke('Begin.')
    await expect(chat.agent().invoke('Begin.')).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  })
})

function strictSkill(): string {
  return '---\nname: strict\ndescription: Reads only.\nallowed-tools: Read\n---\nOnly read.\n'
}

describe('allowed-tools', () => {
  test('a tool that a loaded skill does not allow is refused in this turn only', async () => {
    await using chat = await Chat.open({ allowedTools: 'enforce' })
    chat.world.folder.write('strict/SKILL.md', strictSkill())
    let edits = 0
    chat.world.prepare(() => edits++)
    const agent = chat.agent()
    chat.play(load('strict'), EDIT, DONE)
    await agent.invoke('Begin.')
    expect(edits).toBe(0)
    expect(chat.last?.text).toContain('may not be called in this way while')
    chat.play(EDIT, DONE)
    await agent.invoke('Again.')
    expect(edits).toBe(1)
  })

  test.each(['in the same process', 'after a restart'])(
    'an approval in the middle of a turn does not lift the restriction %s',
    async place => {
      await using chat = await Chat.open({ allowedTools: 'enforce' })
      chat.world.folder.write('strict/SKILL.md', strictSkill())
      let edits = 0
      chat.world.prepare(() => edits++)
      const askFirst = (agent: sdk.Agent): sdk.Agent => {
        agent.addHook(sdk.BeforeToolCallEvent, event => {
          if (event.toolUse.name === 'edit') event.interrupt({ name: 'approve', reason: 'Edit?' })
        })
        return agent
      }
      let agent = askFirst(chat.agent())
      chat.play(load('strict'), EDIT, DONE)
      const { stopReason, interrupts = [] } = await agent.invoke('Begin.')
      expect(stopReason).toBe('interrupt')
      const [{ id: interruptId } = { id: '' }] = interrupts
      using live = strands(chat.skills, { sdk, id: 'chat-2', allowedTools: 'enforce' })
      if (place === 'after a restart') {
        const snapshot = agent.takeSnapshot({ preset: 'session' })
        agent = askFirst(createAgent(chat.world, live))
        agent.loadSnapshot(JSON.parse(JSON.stringify(snapshot)) as sdk.Snapshot)
      }
      await agent.invoke([new sdk.InterruptResponseContent({ interruptId, response: true })])
      expect(edits).toBe(0)
      expect(chat.last?.text).toContain('may not be called in this way while')
    },
  )
})

describe('a failed call', () => {
  test('sends the notice again if the host removes the messages of the turn', async () => {
    await using chat = await Chat.open()
    const agent = chat.agent()
    await agent.invoke('Begin.')
    const { length } = agent.messages
    addMaps(chat.world)
    chat.play(load('refund'), EDIT, FAIL)
    await expect(agent.invoke('Edit.')).rejects.toThrow()
    expect(chat.live.session.ledger.entries()).toHaveLength(1)
    agent.messages.length = length
    await agent.invoke('Again.')
    expect(countText(chat.last, 'added: maps')).toBe(1)
    expect(chat.live.session.ledger.entries()).toEqual([])
    expect(countBrokenPrefixes([chat.requests[0], chat.last] as ModelRequest[])).toBe(0)
  })

  test('in the first turn leaves no trace if the host removes all messages', async () => {
    await using chat = await Chat.open()
    const agent = chat.agent()
    addMaps(chat.world)
    chat.play(load('refund'), EDIT, FAIL)
    await expect(agent.invoke('Begin.')).rejects.toThrow()
    agent.messages.length = 0
    await agent.invoke('Again.')
    expect(countText(chat.last, 'Does what maps does. Use it for all about maps.')).toBe(1)
    expect(chat.live.session.ledger.entries()).toEqual([])
  })

  test('sends the notice again if the host loads an earlier snapshot', async () => {
    await using chat = await Chat.open()
    const agent = chat.agent()
    await agent.invoke('Begin.')
    const before = agent.takeSnapshot({ preset: 'session' })
    addMaps(chat.world)
    chat.play(load('refund'), EDIT, FAIL)
    await expect(agent.invoke('Edit.')).rejects.toThrow()
    agent.loadSnapshot(JSON.parse(JSON.stringify(before)) as sdk.Snapshot)
    await agent.invoke('Again.')
    expect(countText(chat.last, 'added: maps')).toBe(1)
    expect(chat.live.session.ledger.entries()).toEqual([])
  })

  test('that a hook retries has the notice once', async () => {
    await using chat = await Chat.open()
    const agent = chat.agent()
    agent.addHook(sdk.AfterModelCallEvent, event => {
      if (event.error) event.retry = true
    })
    addMaps(chat.world)
    chat.play(EDIT, FAIL, DONE)
    await agent.invoke('Begin.')
    expect(chat.requests).toHaveLength(3)
    expect(chat.requests.slice(1).map(request => countText(request, 'added: maps'))).toEqual([1, 1])
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })
})

describe('a stopped turn', () => {
  test('agent.cancel() keeps what is in the history, and the next turn continues', async () => {
    await using chat = await Chat.open()
    const agent = chat.agent()
    chat.world.prepare(() => {
      chat.world.folder.writeSkill('maps')
      agent.cancel()
    })
    chat.play(EDIT, DONE)
    expect((await agent.invoke('Begin.')).stopReason).toBe('cancelled')
    await agent.invoke('Again.')
    expect(countText(chat.last, 'added: maps')).toBe(1)
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })

  test('a load whose answer the SDK drops leaves no trace', async () => {
    await using chat = await Chat.open()
    const agent = chat.agent()
    chat.play(load('refund'), DONE)
    let answer: sdk.ToolResultBlock | undefined
    for await (const event of agent.stream('Begin.')) {
      if (event.type !== 'afterToolCallEvent') continue
      answer = event.result
      break
    }
    expect(JSON.stringify(answer)).toContain('form ONE')
    expect(JSON.stringify(agent.messages)).not.toContain('form ONE')
    await agent.invoke('Again.')
    expect(chat.live.session.ledger.entries()).toEqual([])
    expect(chat.last?.text).not.toContain('form ONE')
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })

  test('an aborted tool call of a skill tool ends with the reason', async () => {
    await using chat = await Chat.open()
    const agent = chat.agent()
    const controller = new AbortController()
    agent.addHook(sdk.BeforeToolCallEvent, () => controller.abort(new Error('Enough.')))
    chat.play(load('refund'), DONE)
    const { stopReason } = await agent.invoke('Begin.', { cancelSignal: controller.signal })
    expect(stopReason).toBe('cancelled')
    expect(chat.live.session.ledger.entries()).toEqual([])
  })
})

describe('streaming', () => {
  test('delivers the notice between two steps of a stream, and keeps the prefix', async () => {
    await using chat = await Chat.open()
    const agent = chat.agent()
    addMaps(chat.world)
    chat.play(EDIT, DONE)
    const types = new Set<string>()
    for await (const { type } of agent.stream('Begin.')) types.add(type)
    expect(types).toContain('modelStreamUpdateEvent')
    expect(countText(chat.last, 'added: maps')).toBe(1)
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })

  test('shows the progress of a command of a skill', async () => {
    await using chat = await Chat.open()
    const command = `import { defineCommand } from 'skillstoke/command'
export const work = defineCommand({
  name: 'work',
  description: 'Works.',
  input: { type: 'object', properties: {} },
  run: (_input, { progress }) => (progress(1, 2, 'Half done.'), 'All done.'),
})
`
    chat.world.folder.write('refund/scripts/work.js', command)
    const call = { skill: 'refund', command: 'work', input: {} }
    chat.play({ kind: 'call', name: 'run_skill_command', input: call }, DONE)
    const progress: unknown[] = []
    for await (const event of chat.agent().stream('Begin.'))
      if (event.type === 'toolStreamUpdateEvent') progress.push(event.event.data)
    expect(progress).toEqual([{ done: 1, total: 2, message: 'Half done.' }])
    expect(chat.last?.text).toContain('All done.')
  })

  test('a model that keeps the history itself receives each notice once', async () => {
    await using chat = await Chat.open()
    const agent = chat.agent({ model: responsesModel(chat.world, true) })
    addMaps(chat.world)
    chat.play(load('refund'), EDIT, DONE)
    await agent.invoke('Begin.')
    expect(agent.messages).toEqual([])
    await agent.invoke('Again.')
    expect(chat.requests.map(request => countText(request, 'added: maps'))).toEqual([0, 0, 1, 0])
    expect(new Set(chat.requests.map(({ body }) => body['instructions'])).size).toBe(1)
    expect(chat.live.session.ledger.entries()).toHaveLength(1)
  })
})

describe('a compaction', () => {
  const body = 'Refunds need form ONE.'

  test('of the sliding window brings a lost skill back once, at its live revision', async () => {
    await using chat = await Chat.open()
    const agent = chat.agent({
      conversationManager: new sdk.SlidingWindowConversationManager({ windowSize: 4 }),
    })
    chat.play(load('refund'), DONE)
    await agent.invoke('Begin.')
    editRefund(chat.world)
    await agent.invoke('Second.') // the window drops the load after this turn
    await agent.invoke('Third.')
    expect(chat.last?.text).not.toContain(body)
    expect(countText(chat.last, 'form TWO')).toBe(1)
    await agent.invoke('Fourth.')
    await agent.invoke('Fifth.')
    await agent.invoke('Sixth.')
    expect(countText(chat.last, 'form TWO')).toBe(1)
  })

  test('that keeps a notice corrects what is no longer true of it', async () => {
    await using chat = await Chat.open()
    const { folder } = chat.world
    const agent = chat.agent({
      conversationManager: new sdk.SlidingWindowConversationManager({ windowSize: 5 }),
    })
    chat.play(load('refund'), DONE, DONE, DONE)
    await agent.invoke('Begin.')
    folder.remove('orders')
    folder.writeSkill('plans')
    await agent.invoke('Second.')
    folder.writeSkill('orders')
    folder.remove('plans')
    await agent.invoke('Third.')
    const { text = '' } = chat.last ?? {}
    expect(text).toContain('removed: orders') // the window keeps the notice, and drops the load before it
    expect(text).not.toContain('Begin.')
    expect(text.lastIndexOf('added: orders')).toBeGreaterThan(text.lastIndexOf('removed: orders'))
    expect(text.lastIndexOf('removed: plans')).toBeGreaterThan(text.lastIndexOf('added: plans'))
  })

  test('that keeps the answer of a load does not repeat the skill', async () => {
    await using chat = await Chat.open()
    const agent = chat.agent()
    addMaps(chat.world)
    chat.play(EDIT, DONE)
    await agent.invoke('Begin.')
    const { length } = agent.messages
    chat.play(load('refund'), DONE)
    await agent.invoke('Load.')
    agent.messages.splice(
      0,
      length,
      new sdk.Message({ role: 'user', content: [new sdk.TextBlock('A summary.')] }),
    )
    await agent.invoke('Again.')
    expect(countText(chat.last, body)).toBe(1)
    expect(chat.last?.text).not.toContain('added: maps')
    expect(chat.live.session.catalog).toContain('maps')
    expect(chat.last?.parts[1]).toContain('maps')
    agent.messages.splice(0, agent.messages.length - 1)
    await agent.invoke('Once more.')
    expect(countText(chat.last, body)).toBe(1)
  })

  test('inside a turn brings the skill back before the next call', async () => {
    await using chat = await Chat.open()
    const summarizer = new sdk.SummarizingConversationManager({
      ...{
        summaryRatio: 0.8,
        preserveRecentMessages: 2,
        proactiveCompression: { compressionThreshold: 0.5 },
      },
    })
    const model = chatModel(chat.world)
    model.updateConfig({ contextWindowLimit: 1_000_000 })
    const agent = chat.agent({ model, conversationManager: summarizer })
    chat.world.prepare(() => {
      editRefund(chat.world)
      model.updateConfig({ contextWindowLimit: 1 })
    })
    chat.play(load('refund'), EDIT, DONE)
    await agent.invoke('Begin.')
    expect(chat.world.server.asides).toHaveLength(1)
    expect(chat.last?.text).toContain('A summary.')
    expect(chat.last?.text).not.toContain(body)
    expect(countText(chat.last, 'form TWO')).toBe(1)
  })

  test('restores skills only within the cap', async () => {
    await using chat = await Chat.open({ rebase: { maxTokens: 1 } })
    const agent = chat.agent()
    chat.play(load('refund'), DONE)
    await agent.invoke('Begin.')
    agent.messages.splice(0, 3)
    await agent.invoke('Again.')
    expect(chat.last?.text).not.toContain('form ONE')
    expect(chat.live.session.ledger.entries()).toEqual([])
  })

  test('that removes an older load or an older notice keeps the catalog', async () => {
    await using chat = await Chat.open()
    const agent = chat.agent()
    const say = async (...replies: readonly Reply[]): Promise<string | undefined> => {
      chat.play(...replies)
      await agent.invoke('Go on.')
      return chat.last?.parts[1]
    }
    const write = (name: string): void => chat.world.prepare(() => chat.world.folder.writeSkill(name))
    write('one')
    await say(EDIT, DONE)
    write('two')
    await say(EDIT, DONE)
    await say(load('refund'), DONE)
    agent.messages.splice(0, 4) // the notice about one is gone
    const catalog = await say(DONE)
    expect(catalog).toContain('two')
    write('three')
    await say(EDIT, load('refund'), DONE)
    agent.messages.splice(0, 8) // the notice about two and the first load are gone
    expect(await say(DONE)).toBe(catalog)
    expect(countText(chat.last, 'form ONE')).toBe(1)
    expect(countText(chat.last, 'added: three')).toBe(1)
  })

  test('that removes nothing of the skills keeps the prefix after it', async () => {
    await using chat = await Chat.open()
    const agent = chat.agent()
    await agent.invoke('Begin.')
    addMaps(chat.world)
    chat.play(EDIT, DONE)
    await agent.invoke('Edit.')
    agent.messages.splice(0, 2)
    await agent.invoke('Again.')
    expect(chat.last?.parts[1]).toBe(chat.requests[0]?.parts[1])
    expect(countText(chat.last, 'added: maps')).toBe(1)
  })
})

describe('subagents', () => {
  test('an agent as a tool starts anew at each call, with the newest catalog and its scope', async () => {
    await using chat = await Chat.open()
    const child = chat.live.child({ id: 'chat-1/helper', scope: { exclude: ['secret'] } })
    const helper = createAgent(chat.world, child, { name: 'helper', description: 'Helps.' })
    const agent = chat.agent({ tools: [helper] })
    const ask: Reply = { kind: 'call', name: 'helper', input: { input: 'Help.' } }
    addMaps(chat.world)
    chat.play(ask, load('refund'), load('secret'), EDIT, DONE, DONE)
    await agent.invoke('Begin.')
    const [, ...child1] = chat.requests.slice(0, 5)
    expect(countBrokenPrefixes(child1)).toBe(0)
    expect(child1.map(request => countText(request, 'added: maps'))).toEqual([0, 0, 0, 1])
    expect(child1.at(-1)?.text).not.toContain('Instructions of secret')
    expect(countText(chat.last, 'added: maps')).toBe(1)
    chat.requests.splice(0)
    chat.play(ask, DONE, DONE)
    await agent.invoke('Again.')
    const [, child2] = chat.requests
    expect(child2?.text).not.toMatch(/added: maps|form ONE|secret/)
    expect(countText(child2, 'Does what maps does. Use it for all about maps.')).toBe(1)
    expect(child.session.ledger.entries()).toEqual([])
  })

  test('an agent as a tool that preserves its context keeps its prefix', async () => {
    await using chat = await Chat.open()
    const child = chat.live.child({ id: 'chat-1/helper' })
    const helper = createAgent(chat.world, child, { name: 'helper' })
    const agent = chat.agent({ tools: [helper.asTool({ preserveContext: true })] })
    const ask: Reply = { kind: 'call', name: 'helper', input: { input: 'Help.' } }
    addMaps(chat.world)
    chat.play(ask, load('refund'), EDIT, DONE, ask, DONE, DONE)
    await agent.invoke('Begin.')
    const asked = chat.requests.filter(({ text }) => text.includes('"Help."') && !text.includes('"Begin."'))
    expect(asked).toHaveLength(4)
    expect(countBrokenPrefixes(asked)).toBe(0)
    expect(countText(asked.at(-1), 'added: maps')).toBe(1)
  })

  test.each(['graph', 'swarm'] as const)('the nodes of a %s have their own scopes', async kind => {
    await using chat = await Chat.open()
    const names = ['refund', 'orders']
    const nodes = names.map(name => {
      const plugin = chat.live.child({ id: `chat-1/${name}`, scope: { include: [name, 'maps'] } })
      return createAgent(chat.world, plugin, { id: name, name })
    })
    const team =
      kind === 'graph'
        ? new sdk.Graph({ nodes, edges: [['refund', 'orders']] })
        : new sdk.Swarm({ nodes, start: 'refund' })
    addMaps(chat.world)
    const handOff: Reply = {
      kind: 'call',
      name: 'strands_structured_output',
      input: { agentId: 'orders', message: 'Go on.' },
    }
    const end: Reply = { kind: 'call', name: 'strands_structured_output', input: { message: 'Done.' } }
    if (kind === 'graph') chat.play(EDIT, DONE, load('refund'), load('orders'), DONE)
    else chat.play(EDIT, handOff, load('refund'), load('orders'), end)
    await team.invoke('Begin.')
    const [first, second, third, , last] = chat.requests
    expect(first?.parts[1]).toContain('refund')
    expect(first?.parts[1]).not.toMatch(/orders|maps/)
    expect(countText(second, 'added: maps')).toBe(1)
    expect(third?.parts[1]).toContain('maps')
    expect(third?.parts[1]).not.toContain('refund')
    expect(last?.text).not.toContain('form ONE')
    expect(last?.text).toContain('Instructions of orders.')
  })
})

describe('storage', () => {
  test('the host can store messages and appState itself', async () => {
    await using chat = await Chat.open()
    const agent = chat.agent()
    addMaps(chat.world)
    chat.play(load('refund'), EDIT, DONE)
    await agent.invoke('Begin.')
    const stored = JSON.stringify({ messages: agent.messages, appState: agent.appState.getAll() })
    chat.live[Symbol.dispose]()
    editRefund(chat.world)
    const skills = await chat.world.createSkills()
    using live = strands(skills, { sdk, id: 'chat-1' })
    await createAgent(chat.world, live, JSON.parse(stored) as sdk.AgentConfig).invoke('Again.')
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
    expect(countText(chat.last, 'added: maps')).toBe(1)
    expect(addedText(chat.requests.at(-2), chat.last as ModelRequest)).toContain('you loaded refund')
  })

  test('a compaction after a restart brings the skill back', async () => {
    await using chat = await Chat.open()
    chat.play(load('refund'), DONE)
    await chat.agent({ sessionManager: createSessionManager(chat.world) }).invoke('Begin.')
    chat.live[Symbol.dispose]()
    editRefund(chat.world)
    using live = strands(await chat.world.createSkills(), { sdk, id: 'chat-1' })
    const agent = createAgent(chat.world, live, { sessionManager: createSessionManager(chat.world) })
    await agent.initialize()
    agent.messages.splice(0, 3)
    await agent.invoke('Again.')
    expect(countText(chat.last, 'form TWO')).toBe(1)
    expect(countText(chat.last, '<available_skills>')).toBe(countText(chat.requests[0], '<available_skills>'))
  })

  test('a snapshot from the middle of a turn has the notice and the state of the same moment', async () => {
    await using chat = await Chat.open()
    const agent = chat.agent()
    const snapshots: sdk.Snapshot[] = []
    agent.addHook(sdk.MessageAddedEvent, () => void snapshots.push(agent.takeSnapshot({ preset: 'session' })))
    addMaps(chat.world)
    chat.play(EDIT, DONE)
    await agent.invoke('Begin.')
    chat.live[Symbol.dispose]()
    using live = strands(await chat.world.createSkills(), { sdk, id: 'chat-1' })
    const next = createAgent(chat.world, live)
    next.loadSnapshot(snapshots.at(-1) as sdk.Snapshot)
    await next.invoke('Again.')
    expect(countText(chat.last, 'added: maps')).toBe(1)
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })

  test('a turn that ends after a tool call is stored with its load', async () => {
    await using chat = await Chat.open()
    chat.play(load('refund'))
    const agent = chat.agent({ sessionManager: createSessionManager(chat.world) })
    expect((await agent.invoke('Begin.', { limits: { turns: 1 } })).stopReason).toBe('limitTurns')
    chat.live[Symbol.dispose]()
    editRefund(chat.world)
    using live = strands(await chat.world.createSkills(), { sdk, id: 'chat-1' })
    await createAgent(chat.world, live, { sessionManager: createSessionManager(chat.world) }).invoke('Again.')
    expect(countText(chat.last, 'form ONE')).toBe(1)
    expect(countText(chat.last, 'you loaded refund')).toBe(1)
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })

  test('such a load comes back if the next process compacts its answer', async () => {
    await using chat = await Chat.open()
    const agent = chat.agent({ sessionManager: createSessionManager(chat.world) })
    await agent.invoke('Begin.')
    chat.play(load('refund'))
    await agent.invoke('Load.', { limits: { turns: 1 } })
    chat.live[Symbol.dispose]()
    using live = strands(await chat.world.createSkills(), { sdk, id: 'chat-1' })
    const next = createAgent(chat.world, live, { sessionManager: createSessionManager(chat.world) })
    await next.initialize()
    const summary = new sdk.Message({ role: 'user', content: [new sdk.TextBlock('A summary.')] })
    next.messages.splice(0, next.messages.length, summary)
    await next.invoke('Again.')
    expect(countText(chat.last, 'form ONE')).toBe(1)
  })

  test('two conversations that take turns in one agent do not mix', async () => {
    await using chat = await Chat.open()
    const agent = chat.agent()
    const empty = agent.takeSnapshot({ preset: 'session' })
    chat.play(load('refund'), DONE)
    await agent.invoke('First.')
    const first = agent.takeSnapshot({ preset: 'session' })
    agent.loadSnapshot(empty)
    addMaps(chat.world)
    chat.play(EDIT, DONE)
    await agent.invoke('Second.')
    expect(chat.last?.text).not.toContain('form ONE')
    expect(chat.live.session.ledger.entries()).toEqual([])
    const second = agent.takeSnapshot({ preset: 'session' })
    agent.loadSnapshot(first)
    await agent.invoke('First again.')
    expect(countText(chat.last, 'form ONE')).toBe(1)
    expect(countText(chat.last, 'added: maps')).toBe(1)
    expect(chat.last?.text).not.toContain('Second.')
    expect(countBrokenPrefixes([chat.requests[1], chat.last] as ModelRequest[])).toBe(0)
    agent.loadSnapshot(second)
    await agent.invoke('Second again.')
    expect(countText(chat.last, 'added: maps')).toBe(1)
    expect(countBrokenPrefixes([chat.requests[3], chat.last] as ModelRequest[])).toBe(0)
  })

  test('two agents with two scopes do not mix', async () => {
    await using chat = await Chat.open({ scope: { include: ['refund'] } })
    using other = strands(chat.skills, { sdk, id: 'chat-2', scope: { include: ['orders'] } })
    const agents = [chat.agent(), createAgent(chat.world, other)]
    await Promise.all(agents.map(agent => agent.invoke('Begin.')))
    const catalogs = chat.requests.map(({ parts }) => parts[1])
    expect(catalogs.filter(text => text?.includes('refund') && !text.includes('orders'))).toHaveLength(1)
    expect(catalogs.filter(text => text?.includes('orders') && !text.includes('refund'))).toHaveLength(1)
  })

  test('a cleared history starts a new conversation with the newest catalog', async () => {
    await using chat = await Chat.open()
    const agent = chat.agent()
    addMaps(chat.world)
    chat.play(load('refund'), EDIT, DONE)
    await agent.invoke('Begin.')
    agent.messages.length = 0
    await agent.invoke('Begin anew.')
    expect(chat.last?.text).not.toMatch(/added: maps|form ONE/)
    expect(countText(chat.last, 'Does what maps does. Use it for all about maps.')).toBe(1)
  })
})

describe('Anthropic', () => {
  test('requests alternate the roles, and have at most four cache breakpoints', async () => {
    await using chat = await Chat.open()
    const agent = chat.agent({ model: anthropicModel(chat.world) })
    for (const name of ['one', 'two', 'three', 'four', 'five', 'six']) {
      chat.world.prepare(() => chat.world.folder.writeSkill(name))
      chat.play(load('refund'), EDIT, DONE)
      await agent.invoke('Begin.')
    }
    const messages = chat.last?.body['messages'] as readonly { role: string }[]
    expect(messages.every(({ role }, index) => role === (index % 2 === 0 ? 'user' : 'assistant'))).toBe(true)
    expect(countText(chat.last, 'added:')).toBe(6)
    for (const { body } of chat.requests)
      expect(JSON.stringify(body).split('cache_control').length).toBeLessThan(6)
    expect(JSON.stringify(messages.at(-1))).toContain('cache_control')
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })
})

describe('a message that begins with a slash and a skill', () => {
  test('contains the instructions of the skill', async () => {
    await using chat = await Chat.open()
    const agent = chat.agent()
    await agent.invoke('/refund order 7')
    expect(countText(chat.last, 'form ONE')).toBe(1)
    expect(chat.last?.text).toContain('order 7')
    editRefund(chat.world)
    await agent.invoke('/unknown')
    expect(addedText(chat.requests[0], chat.last as ModelRequest)).toMatch(/\/unknown.*you loaded refund/s)
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })
})

describe('docs/sdks/strands.md', () => {
  afterEach(() => void vi.unstubAllEnvs())

  test('shows a program that continues its conversation in the next process', async () => {
    await using world = await World.open()
    vi.stubEnv('MODEL_URL', `${world.server.url}/v1`)
    const ask = (question: string): Promise<string> =>
      main(world.folder.path, world.stateFolder.path, question)
    world.server.play(load('refund'), DONE)
    expect(await ask('Begin.')).toContain('Done.')
    editRefund(world)
    await ask('Again.')
    const { requests } = world.server
    expect(countText(requests.at(-1), 'you loaded refund')).toBe(1)
    expect(countBrokenPrefixes(requests)).toBe(0)
  })

  test('shows the whole program', () => {
    const page = readFileSync('docs/sdks/strands.md', 'utf8')
    const [, shown] = /```ts\n(.*?)```/s.exec(page) ?? []
    expect(shown).toBe(readFileSync('tests/sdks/examples/strands.ts', 'utf8'))
  })
})
