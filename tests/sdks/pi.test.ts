import { readFileSync } from 'node:fs'
import type { Agent, AgentMessage, AgentTool } from '@earendil-works/pi-agent-core'
import type { Message } from '@earendil-works/pi-ai'
import { type PiChat, type PiOptions, type PiState, pi } from '@skillstoke/adapters/pi'
import type { SkillRuntime } from '@skillstoke/core'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { main } from './examples/pi.ts'
import { addedText, countBrokenPrefixes, type ModelRequest, type Reply } from './model-server.ts'
import {
  type AgentSettings,
  ask,
  createAgent,
  piAnthropicHarness,
  piHarness,
  piResponsesHarness,
} from './pi.ts'
import { piSkillsHarness } from './pi-skills.ts'
import { testHarness } from './test-harness.ts'
import { World } from './world.ts'

for (const each of [piHarness, piResponsesHarness, piAnthropicHarness, piSkillsHarness]) testHarness(each)

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

function toUser(content: string): AgentMessage {
  return { role: 'user', content, timestamp: Date.now() }
}

function copyOf<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value
}

/** A world with an open runtime and an agent that has the conversation `chat-1`. */
class Chat implements AsyncDisposable {
  readonly world: World
  readonly skills: SkillRuntime
  agent: Agent
  live: PiChat
  readonly #options: Partial<PiOptions>

  private constructor(world: World, skills: SkillRuntime, agent: Agent, options: Partial<PiOptions>) {
    this.world = world
    this.skills = skills
    this.agent = agent
    this.live = pi(skills, { agent, id: 'chat-1', ...options })
    this.#options = options
  }

  static async open(options: Partial<PiOptions> = {}, settings: AgentSettings = {}): Promise<Chat> {
    const world = await World.open()
    return new Chat(world, await world.createSkills(), createAgent(world, settings), options)
  }

  get requests(): ModelRequest[] {
    return this.world.server.requests
  }

  get last(): ModelRequest | undefined {
    return this.requests.at(-1)
  }

  play(...replies: readonly Reply[]): void {
    this.world.server.play(...replies)
  }

  /** Continues the conversation as a new process would. */
  restart(messages: readonly AgentMessage[], resume: PiState, settings: AgentSettings = {}): void {
    this.live.close()
    this.agent = createAgent(this.world, { ...settings, messages: copyOf(messages) })
    const { agent } = this
    this.live = pi(this.skills, { agent, id: 'chat-1', ...this.#options, resume: copyOf(resume) })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world[Symbol.asyncDispose]()
  }
}

describe('the messages of the agent', () => {
  test('contain no notice and no catalog, but the system message declares the skill tools', async () => {
    await using chat = await Chat.open()
    addMaps(chat.world)
    chat.play(EDIT, DONE)
    const ended: AgentMessage[] = []
    chat.agent.subscribe(event => void (event.type === 'message_end' && ended.push(event.message)))
    await ask(chat.agent, 'Begin.')
    expect(countText(chat.last, 'added: maps')).toBe(1)
    expect(chat.agent.state.messages.map(({ role }) => role)).toEqual([
      'system',
      ...['user', 'assistant', 'toolResult', 'assistant'],
    ])
    expect(chat.agent.state.messages.slice(1)).toEqual(ended)
    expect(JSON.stringify(chat.agent.state.messages)).not.toContain('maps')
    expect(chat.agent.state.systemPrompt).toBe('You help.')
    expect(chat.last?.text).toContain(JSON.stringify(chat.live.session.catalog).slice(1, -1))
  })

  test('may be loaded from storage before each call', async () => {
    await using chat = await Chat.open()
    const stored: AgentMessage[] = []
    const { agent } = chat
    agent.subscribe(event => void (event.type === 'message_end' && stored.push(copyOf(event.message))))
    const [system] = agent.state.messages
    agent.prepareRequest = ({ context }) => ({
      context: { ...context, messages: [...(system ? [system] : []), ...copyOf(stored)] },
    })
    addMaps(chat.world)
    chat.play(load('refund'), EDIT, load('maps'), DONE)
    await ask(agent, 'Begin.')
    await ask(agent, 'Again.')
    expect(countText(chat.last, 'added: maps')).toBe(1)
    expect(chat.live.session.ledger.entries()).toHaveLength(2)
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })

  test('of a role of the host stay, and its convertToLlm gets the notices as messages of the user', async () => {
    const convertToLlm: NonNullable<AgentSettings['convertToLlm']> = messages =>
      messages.flatMap(message => {
        const { role, text } = message as { readonly role: string; readonly text?: string }
        return role === 'note'
          ? [{ role: 'user' as const, content: `Note: ${text}`, timestamp: 1 }]
          : [message as Message]
      })
    const note = { role: 'note', text: 'Be brief.' } as unknown as AgentMessage
    await using chat = await Chat.open({}, { convertToLlm, messages: [note] })
    addMaps(chat.world)
    chat.play(EDIT, DONE)
    await ask(chat.agent, 'Begin.')
    await ask(chat.agent, 'Again.')
    expect([countText(chat.last, 'Note: Be brief.'), countText(chat.last, 'added: maps')]).toEqual([1, 1])
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })

  test('with an image keep it, and a notice follows', async () => {
    await using chat = await Chat.open()
    const { state } = chat.agent
    state.model = { ...state.model, input: ['text', 'image'] }
    chat.world.folder.writeSkill('maps')
    await chat.agent.prompt('See.', [{ type: 'image', data: 'aGk=', mimeType: 'image/png' }])
    expect(chat.last?.text).toMatch(/aGk=.*added: maps/s)
  })

  test('of the user contain a notice that comes before the first answer', async () => {
    await using chat = await Chat.open()
    const { agent, world } = chat
    const [system] = agent.state.messages
    world.folder.writeSkill('maps')
    chat.play(FAIL)
    await expect(ask(agent, 'Begin.')).rejects.toThrow('400')
    agent.state.messages = [...(system ? [system] : []), toUser('Begin.')]
    world.folder.writeSkill('taxes')
    await agent.continue()
    const sent = chat.last?.body['messages'] as readonly { readonly role: string }[]
    expect(sent.map(({ role }) => role)).toEqual(['system', 'user'])
    expect(chat.last?.text).toMatch(/Begin\..*added: maps.*added: taxes/s)
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })
})

describe('the hooks of the host', () => {
  test('a beforeToolCall of the host that blocks a call wins', async () => {
    const beforeToolCall: AgentSettings['beforeToolCall'] = ({ toolCall }) =>
      Promise.resolve(toolCall.name === 'edit' ? { block: true, reason: 'No edits on Sundays.' } : undefined)
    await using chat = await Chat.open({ allowedTools: 'enforce' }, { beforeToolCall })
    chat.world.folder.write('strict/SKILL.md', strictSkill())
    chat.play(load('strict'), EDIT, DONE)
    await ask(chat.agent, 'Begin.')
    expect(chat.last?.text).toContain('No edits on Sundays.')
    expect(chat.last?.text).not.toContain('may not be called')
  })

  test('a message that transformContext or prepareNextTurn adds stays before the notice', async () => {
    const transformContext: AgentSettings['transformContext'] = messages =>
      Promise.resolve(messages.length < 4 ? messages : messages.toSpliced(4, 0, toUser('Be brief.')))
    const prepareNextTurn: AgentSettings['prepareNextTurn'] = () => ({ messages: [toUser('Be kind.')] })
    await using chat = await Chat.open({}, { transformContext, prepareNextTurn })
    addMaps(chat.world)
    chat.play(EDIT, DONE)
    await ask(chat.agent, 'Begin.')
    const added = addedText(chat.requests[0], chat.requests[1] as ModelRequest)
    expect(added).toMatch(/Be brief\..*Be kind\..*added: maps/s)
    await ask(chat.agent, 'Again.')
    expect(countText(chat.last, 'added: maps')).toBe(1)
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })

  test('a hook that the host adds later may call the hook of the adapter', async () => {
    await using chat = await Chat.open({ allowedTools: 'enforce' })
    const { agent } = chat
    const { transformContext, beforeToolCall } = agent
    const calls: string[] = []
    agent.transformContext = async (...given) => {
      calls.push('transform')
      return (await transformContext?.(...given)) ?? []
    }
    agent.beforeToolCall = async (...given) => {
      calls.push('check')
      return await beforeToolCall?.(...given)
    }
    chat.world.folder.write('strict/SKILL.md', strictSkill())
    chat.play(load('strict'), EDIT, DONE)
    await ask(agent, 'Begin.')
    expect(calls).toEqual(['transform', 'check', 'transform', 'check', 'transform'])
    expect(chat.last?.text).toContain('may not be called in this way while')
    chat.live.close()
    await ask(agent, 'Again.')
    expect(countText(chat.last, chat.live.session.catalog)).toBe(0)
    expect(chat.last?.body.tools).toHaveLength(1)
  })

  test('the messages of steer() and followUp() come before the notice, and keep the prefix', async () => {
    await using chat = await Chat.open()
    const { agent, world } = chat
    world.prepare(() => {
      world.folder.writeSkill('maps')
      agent.steer(toUser('Hurry.'))
      agent.followUp(toUser('/refund order 7'))
    })
    chat.play(EDIT, DONE, DONE)
    await ask(agent, 'Begin.')
    expect(chat.requests).toHaveLength(3)
    const [first, second, third] = chat.requests
    expect(addedText(first, second as ModelRequest)).toMatch(/Hurry\..*added: maps/s)
    expect(addedText(second, third as ModelRequest)).toMatch(/order 7.*form ONE/s)
    await ask(agent, 'Again.')
    expect(countText(chat.last, 'added: maps')).toBe(1)
    expect(countText(chat.last, 'form ONE')).toBe(1)
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })
})

describe('the option "agent"', () => {
  test('that is missing, or of an older version, is refused', async () => {
    await using world = await World.open()
    const skills = await world.createSkills()
    const older = { state: { systemPrompt: '', messages: [], tools: [] } }
    for (const agent of [undefined, {}, older])
      expect(() => pi(skills, { agent: agent as never, id: 'chat-1' })).toThrow(
        expect.objectContaining({
          code: 'INVALID_OPTION',
          message: expect.stringContaining('"agent" is not an agent of') as string,
        }),
      )
    using live = pi(skills, { agent: createAgent(world), id: 'chat-1' })
    expect(() => live.child({ agent: older as never, id: 'chat-1/helper' })).toThrow(
      '"agent" is not an agent',
    )
  })

  test('with a tool that has the name of a skill tool is refused, and the id stays free', async () => {
    await using world = await World.open()
    const skills = await world.createSkills()
    const skill: AgentTool = {
      ...{ name: 'skill', label: 'Mine', description: 'Mine.', parameters: { type: 'object' } },
      execute: () => Promise.resolve({ content: [], details: {} }),
    }
    const agent = createAgent(world, { tools: [skill] })
    const clash = expect.objectContaining({
      code: 'INVALID_OPTION',
      message: expect.stringContaining('"skill"') as string,
    })
    expect(() => pi(skills, { agent, id: 'chat-1' })).toThrow(clash)
    expect(agent.state.tools).toHaveLength(2)
    using live = pi(skills, { agent, id: 'chat-1', skillToolName: 'load_skill' })
    expect(live.tools[0]?.name).toBe('load_skill')
  })

  test('that already has a conversation is refused until that conversation is closed', async () => {
    await using chat = await Chat.open()
    const { agent, skills } = chat
    expect(() => pi(skills, { agent, id: 'chat-2' })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION' }),
    )
    await ask(agent, 'Begin.')
    const { length } = agent.state.tools
    chat.live.close()
    chat.live.close()
    using live = pi(skills, { agent, id: 'chat-1', resume: chat.live.state() })
    expect(agent.state.tools).toHaveLength(length)
    await ask(agent, 'Again.')
    expect(live.session.id).toBe('chat-1')
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })

  test('and other options are checked', async () => {
    await using chat = await Chat.open()
    const { skills, world } = chat
    const agent = createAgent(world)
    const invalid = expect.objectContaining({ code: 'INVALID_OPTION' })
    expect(() => pi(skills, { agent, id: 'chat-2', scop: {} } as never)).toThrow(invalid)
    expect(() => pi(skills, { agent, id: 'chat-2', resume: { session: {} } as never })).toThrow(invalid)
    expect(() => pi(skills, { agent, id: 'chat-1' })).toThrow(
      expect.objectContaining({ code: 'DUPLICATE_SESSION' }),
    )
    expect(agent.state.tools).toHaveLength(1)
  })
})

test('the agent reports that the runtime is closed', async () => {
  await using chat = await Chat.open()
  await chat.skills.close()
  await expect(ask(chat.agent, 'Begin.')).rejects.toThrow(/closed/)
  expect(chat.requests).toEqual([])
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
    chat.play(load('strict'), EDIT, DONE)
    await ask(chat.agent, 'Begin.')
    expect(edits).toBe(0)
    expect(chat.last?.text).toContain('may not be called in this way while')
    chat.play(EDIT, DONE)
    await ask(chat.agent, 'Again.')
    expect(edits).toBe(1)
  })

  test.each(['in the same process', 'after a restart'])(
    'continue() after a failed call does not lift the restriction %s',
    async place => {
      await using chat = await Chat.open({ allowedTools: 'enforce' })
      chat.world.folder.write('strict/SKILL.md', strictSkill())
      let edits = 0
      chat.world.prepare(() => edits++)
      chat.play(load('strict'), FAIL)
      await expect(ask(chat.agent, 'Begin.')).rejects.toThrow('400')
      const messages = chat.agent.state.messages.slice(0, -1)
      if (place === 'after a restart') chat.restart(messages, chat.live.state())
      else chat.agent.state.messages = messages
      chat.play(EDIT, DONE)
      await chat.agent.continue()
      expect(edits).toBe(0)
      expect(chat.last?.text).toContain('may not be called in this way while')
    },
  )
})

describe('a failed call', () => {
  test('that continue() repeats has the notice once', async () => {
    await using chat = await Chat.open()
    const { agent } = chat
    addMaps(chat.world)
    chat.play(EDIT, FAIL)
    await expect(ask(agent, 'Begin.')).rejects.toThrow('400')
    agent.state.messages.pop()
    editRefund(chat.world)
    await agent.continue()
    await ask(agent, 'Again.')
    expect(chat.requests.slice(1).map(request => countText(request, 'added: maps'))).toEqual([1, 1, 1])
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })

  test('sends the notice again if the host removes the messages of the turn', async () => {
    await using chat = await Chat.open()
    const { agent } = chat
    await ask(agent, 'Begin.')
    const messages = copyOf(agent.state.messages)
    addMaps(chat.world)
    chat.play(load('refund'), EDIT, FAIL)
    await expect(ask(agent, 'Edit.')).rejects.toThrow('400')
    expect(chat.live.session.ledger.entries()).toHaveLength(1)
    agent.state.messages = messages
    await ask(agent, 'Again.')
    expect(countText(chat.last, 'added: maps')).toBe(1)
    expect(chat.live.session.ledger.entries()).toEqual([])
    expect(countBrokenPrefixes([chat.requests[0], chat.last] as ModelRequest[])).toBe(0)
  })

  test('in the first turn leaves no trace after reset()', async () => {
    await using chat = await Chat.open()
    addMaps(chat.world)
    chat.play(load('refund'), EDIT, FAIL)
    await expect(ask(chat.agent, 'Begin.')).rejects.toThrow('400')
    chat.agent.reset()
    await ask(chat.agent, 'Again.')
    expect(countText(chat.last, 'Does what maps does. Use it for all about maps.')).toBe(1)
    expect(chat.live.session.ledger.entries()).toEqual([])
    expect(countText(chat.last, '"name":"skill"')).toBe(1)
  })
})

describe('a stopped turn', () => {
  test('whose request the server holds continues, and keeps what is in the messages', async () => {
    await using chat = await Chat.open()
    const { agent, world } = chat
    addMaps(world)
    chat.play(load('refund'), EDIT, { kind: 'hold' })
    const turn = agent.prompt('Begin.')
    while (chat.requests.length < 3) await world.server.received()
    agent.abort()
    await turn
    expect(countText(chat.last, 'added: maps')).toBe(1)
    editRefund(world)
    await ask(agent, 'Again.')
    expect(countText(chat.last, 'added: maps')).toBe(1)
    expect(countText(chat.last, 'you loaded refund')).toBe(1)
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })

  test('in a tool sends no request, and the next turn reports the change once', async () => {
    await using chat = await Chat.open()
    const { agent, world } = chat
    world.prepare(() => {
      world.folder.writeSkill('maps')
      agent.abort()
    })
    chat.play(EDIT, DONE)
    await agent.prompt('Begin.')
    expect(chat.requests).toHaveLength(1)
    await ask(agent, 'Again.')
    expect(countText(chat.last, 'added: maps')).toBe(1)
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })
})

test('a command of a skill shows its progress', async () => {
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
  const input = { skill: 'refund', command: 'work', input: {} }
  chat.play({ kind: 'call', name: 'run_skill_command', input }, DONE)
  const progress: unknown[] = []
  chat.agent.subscribe(event => {
    if (event.type === 'tool_execution_update') progress.push(event.partialResult)
  })
  await ask(chat.agent, 'Begin.')
  const content = [{ type: 'text', text: 'Half done.' }]
  expect(progress).toEqual([{ content, details: { done: 1, total: 2, message: 'Half done.' } }])
  expect(chat.last?.text).toContain('All done.')
})

test('the failed call of a skill tool is a failed result', async () => {
  await using chat = await Chat.open()
  chat.play(load('refnd'), DONE)
  await ask(chat.agent, 'Begin.')
  const result = chat.agent.state.messages.find(({ role }) => role === 'toolResult')
  expect(result).toMatchObject({ isError: true })
  expect(chat.last?.text).toMatch(/did you mean .*refund/)
})

describe('storage', () => {
  test('continues with the same bytes, also without the stored system message', async () => {
    await using chat = await Chat.open()
    addMaps(chat.world)
    chat.play(load('refund'), EDIT, DONE)
    await ask(chat.agent, 'Begin.')
    const messages = chat.agent.state.messages.filter(({ role }) => role !== 'system')
    chat.restart(messages, chat.live.state())
    editRefund(chat.world)
    await ask(chat.agent, 'Again.')
    expect(countText(chat.last, 'added: maps')).toBe(1)
    expect(countText(chat.last, 'you loaded refund')).toBe(1)
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })

  test('of an older state than the messages reports the change again, and nothing is lost', async () => {
    await using chat = await Chat.open()
    await ask(chat.agent, 'Begin.')
    const state = copyOf(chat.live.state())
    addMaps(chat.world)
    chat.play(EDIT, DONE)
    await ask(chat.agent, 'Edit.')
    chat.restart(chat.agent.state.messages, state)
    await ask(chat.agent, 'Again.')
    expect(countText(chat.last, 'added: maps')).toBe(1)
  })

  test('of a state without its last messages forgets what they told', async () => {
    await using chat = await Chat.open()
    await ask(chat.agent, 'Begin.')
    const messages = copyOf(chat.agent.state.messages)
    addMaps(chat.world)
    chat.play(load('refund'), EDIT, DONE)
    await ask(chat.agent, 'Edit.')
    chat.restart(messages, chat.live.state())
    await ask(chat.agent, 'Again.')
    expect(countText(chat.last, 'added: maps')).toBe(1)
    expect(chat.live.session.ledger.entries()).toEqual([])
    expect(countBrokenPrefixes([chat.requests[0], chat.last] as ModelRequest[])).toBe(0)
  })

  test('of a conversation without skills gets the catalog and the tools', async () => {
    await using world = await World.open()
    const plain = createAgent(world)
    await ask(plain, 'Begin.')
    const skills = await world.createSkills()
    const agent = createAgent(world, { messages: copyOf(plain.state.messages) })
    using live = pi(skills, { agent, id: 'chat-1' })
    world.server.play(load('refund'), DONE)
    await ask(agent, 'Again.')
    expect(live.session.ledger.entries()).toHaveLength(1)
    expect(world.server.requests.at(-1)?.text).toContain('form ONE')
    expect(countBrokenPrefixes(world.server.requests.slice(1))).toBe(0)
  })

  test('one agent serves several conversations in turn', async () => {
    await using chat = await Chat.open()
    const { agent, skills } = chat
    chat.play(load('refund'), DONE)
    await ask(agent, 'Begin.')
    const first = { messages: copyOf(agent.state.messages), resume: copyOf(chat.live.state()) }
    chat.live.close()
    agent.reset()
    {
      using second = pi(skills, { agent, id: 'chat-2' })
      await ask(agent, 'Other.')
      expect(second.session.ledger.entries()).toEqual([])
      expect(chat.last?.text).not.toContain('form ONE')
    }
    agent.state.messages = first.messages
    using live = pi(skills, { agent, id: 'chat-1', resume: first.resume })
    await ask(agent, 'Again.')
    expect(live.session.ledger.entries()).toHaveLength(1)
    expect(countBrokenPrefixes([chat.requests[1], chat.last] as ModelRequest[])).toBe(0)
  })
})

describe('a compaction', () => {
  test('also without the system message brings loaded skills back once, and the newest catalog', async () => {
    await using chat = await Chat.open({ rebase: { maxTokens: 1_000 } })
    const { agent, world } = chat
    addMaps(world)
    chat.play(load('refund'), EDIT, DONE)
    await ask(agent, 'Begin.')
    editRefund(world)
    agent.state.messages = [toUser('A summary.')]
    await ask(agent, 'Again.')
    const before = chat.requests.length
    expect([countText(chat.last, 'form TWO'), countText(chat.last, 'form ONE')]).toEqual([1, 0])
    expect(countText(chat.last, 'added: maps')).toBe(0)
    expect(chat.live.session.catalog).toContain('maps')
    expect(chat.last?.text).toContain(JSON.stringify(chat.live.session.catalog).slice(1, -1))
    world.folder.writeSkill('refund', { body: 'Refunds need form THREE.' })
    chat.play(EDIT, DONE)
    await ask(agent, 'Once more.')
    expect(countText(chat.last, 'you loaded refund')).toBe(1)
    expect(countBrokenPrefixes(chat.requests.slice(before - 1))).toBe(0)
    chat.restart(agent.state.messages, chat.live.state())
    await ask(chat.agent, 'Goodbye.')
    expect(countText(chat.last, 'you loaded refund')).toBe(1)
    expect(countText(chat.last, 'form TWO')).toBe(1)
  })

  test('between two steps of a tool loop is followed in the next call', async () => {
    await using chat = await Chat.open()
    const { agent, world } = chat
    chat.play(load('refund'), DONE)
    await ask(agent, 'Begin.')
    world.prepare(() => editRefund(world))
    agent.prepareNextTurnWithContext = ({ context: { messages, ...context } }) => {
      agent.state.messages = [...messages.slice(0, 1), toUser('A summary.'), ...messages.slice(-2)]
      return { context: { ...context, messages: agent.state.messages.slice() } }
    }
    chat.play(EDIT, DONE)
    await ask(agent, 'Edit.')
    expect([countText(chat.last, 'form TWO'), countText(chat.last, 'form ONE')]).toEqual([1, 0])
    await ask(agent, 'Again.')
    expect(countText(chat.last, 'form TWO')).toBe(1)
    expect(countBrokenPrefixes(chat.requests.slice(-2))).toBe(0)
  })

  test('by a window of transformContext restores a skill once, and repeats no notice', async () => {
    const transformContext: AgentSettings['transformContext'] = messages =>
      Promise.resolve([...messages.slice(0, 1), ...messages.slice(1).slice(-6)])
    await using chat = await Chat.open({}, { transformContext })
    const { agent, world } = chat
    addMaps(world)
    chat.play(load('refund'), EDIT, DONE)
    await ask(agent, 'Begin.')
    for (const question of ['One.', 'Two.', 'Three.', 'Four.', 'Five.', 'Six.']) {
      await ask(agent, question)
      expect(countText(chat.last, 'form ONE'), question).toBe(1)
      expect(countText(chat.last, 'added: maps'), question).toBeLessThanOrEqual(1)
      expect(chat.last?.text).toContain('maps')
    }
  })
})

describe('a provider that accepts system messages in the middle of a conversation', () => {
  const late: AgentTool = {
    ...{ name: 'late', label: 'Late', description: 'Late.', parameters: { type: 'object', properties: {} } },
    execute: () => Promise.resolve({ content: [], details: {} }),
  }

  test.each<[api: NonNullable<AgentSettings['api']>, compat: object]>([
    ['openai-completions', { supportsMidConvoToolAdditions: true }],
    ['openai-responses', { supportsToolSearch: true }],
  ])(
    'gets the skill tools at the start, and keeps its prefix when the host adds a tool: %s',
    async (api, more) => {
      const settings = { api, compat: { supportsMidConvoSystemMessages: true, ...more } }
      await using chat = await Chat.open({}, settings)
      const { agent, world } = chat
      addMaps(world)
      chat.play(load('refund'), EDIT, DONE)
      await ask(agent, 'Begin.')
      const names = ['edit', ...chat.live.tools.map(({ name }) => name)]
      const shown = JSON.stringify(chat.requests[0]?.body.tools).match(/"name":"\w+"/g)
      expect(shown).toEqual(names.map(name => `"name":"${name}"`))
      agent.state.tools = [...agent.state.tools, late]
      await ask(agent, 'Again.')
      expect(chat.last?.text).toContain('"late"')
      await sayBriefly(chat)
      chat.restart(agent.state.messages, chat.live.state(), { ...settings, tools: [late] })
      await ask(chat.agent, 'Goodbye.')
      expect(countText(chat.last, 'added: maps')).toBe(1)
      expect(countBrokenPrefixes(chat.requests)).toBe(0)
    },
  )

  test('keeps its prefix after a system message of the host: anthropic-messages', async () => {
    const settings: AgentSettings = {
      api: 'anthropic-messages',
      compat: { supportsMidConvoSystemMessages: true },
    }
    await using chat = await Chat.open({}, settings)
    addMaps(chat.world)
    chat.play(load('refund'), EDIT, DONE)
    await ask(chat.agent, 'Begin.')
    await sayBriefly(chat)
    await ask(chat.agent, 'Goodbye.')
    expect(countText(chat.last, 'added: maps')).toBe(1)
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })

  async function sayBriefly(chat: Chat): Promise<void> {
    editRefund(chat.world)
    await chat.agent.prompt([
      { role: 'system', content: 'Be brief.', timestamp: Date.now() },
      { role: 'user', content: 'Once more.', timestamp: Date.now() },
    ])
    expect(countText(chat.last, 'Be brief.')).toBe(1)
    expect(countText(chat.last, 'you loaded refund')).toBe(1)
  }
})

describe('a message that begins with a slash and a skill', () => {
  test('reaches the model with the instructions of the skill', async () => {
    await using chat = await Chat.open()
    const { agent } = chat
    await ask(agent, '/refund order 7')
    expect(countText(chat.last, 'form ONE')).toBe(1)
    expect(chat.last?.text).toContain('order 7')
    expect(JSON.stringify(agent.state.messages)).not.toContain('form ONE')
    editRefund(chat.world)
    await ask(agent, '/unknown')
    expect(addedText(chat.requests[0], chat.last as ModelRequest)).toMatch(/\/unknown.*you loaded refund/s)
    chat.restart(agent.state.messages, chat.live.state())
    await ask(chat.agent, 'Again.')
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })
})

test('a subagent whose conversation ends leaves its id free', async () => {
  await using chat = await Chat.open()
  const { live, world } = chat
  for (let round = 0; round < 2; round++) {
    const agent = createAgent(world)
    using child = live.child({ agent, id: 'chat-1/helper', scope: { include: ['refund'] } })
    chat.play(load('orders'), load('refund'), DONE)
    await ask(agent, 'Begin.')
    expect(child.session.ledger.entries().map(({ name }) => name)).toEqual(['refund'])
  }
  expect(live.session.ledger.entries()).toEqual([])
})

describe('docs/sdks/pi.md', () => {
  afterEach(() => void vi.unstubAllEnvs())

  test('shows a program that continues its conversation in the next process', async () => {
    await using world = await World.open()
    vi.stubEnv('MODEL_URL', `${world.server.url}/v1`)
    vi.stubEnv('MODEL_KEY', 'none')
    world.server.play(load('refund'), DONE)
    const chat = await main(world.folder.path, 'Begin.')
    expect(JSON.stringify(chat.messages)).toContain('Done.')
    editRefund(world)
    await main(world.folder.path, 'Again.', copyOf(chat))
    const { requests } = world.server
    expect(countText(requests.at(-1), 'you loaded refund')).toBe(1)
    expect(countBrokenPrefixes(requests)).toBe(0)
  })

  test('shows the whole program', () => {
    const [, shown] = /```ts\n(.*?)```/s.exec(readFileSync('docs/sdks/pi.md', 'utf8')) ?? []
    expect(shown).toBe(readFileSync('tests/sdks/examples/pi.ts', 'utf8'))
  })
})
