import { readFileSync, writeFileSync } from 'node:fs'
import {
  type CopilotClient,
  type CopilotSession,
  type SessionConfig,
  type SessionHooks,
  type Tool,
  ToolSet,
} from '@github/copilot-sdk'
import { type CopilotAgent, type CopilotOptions, copilot } from '@skillstoke/adapters/copilot'
import type { SkillRuntime } from '@skillstoke/core'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  ask,
  copilotAnthropicHarness,
  copilotHarness,
  copilotResponsesHarness,
  createConfig,
  Delegation,
  RESEARCHER,
  startClient,
  takeBack,
} from './copilot.ts'
import { copilotSkillsHarness } from './copilot-skills.ts'
import { main } from './examples/copilot.ts'
import { addedText, countBrokenPrefixes, type ModelRequest, type Reply } from './model-server.ts'
import { Relay, type RelayAnswer } from './relay.ts'
import { testHarness } from './test-harness.ts'
import { World } from './world.ts'

for (const each of [copilotAnthropicHarness, copilotResponsesHarness, copilotHarness, copilotSkillsHarness])
  testHarness(each)

type Options = Omit<CopilotOptions, 'id'>

const DONE: Reply = { kind: 'text', text: 'Done.' }
const EDIT: Reply = { kind: 'call', name: 'edit', input: {} }
const load = (name: string): Reply => ({ kind: 'call', name: 'load_skill', input: { name } })

function countText(request: ModelRequest | undefined, text: string): number {
  return (request?.text.split(text).length ?? 1) - 1
}

function strictSkill(): string {
  return '---\nname: strict\ndescription: Reads only.\nallowed-tools: Read\n---\nOnly read.\n'
}

/** A world with a runtime of the SDK and the open session `chat-1`. */
class Chat implements AsyncDisposable {
  readonly world: World
  readonly skills: SkillRuntime
  readonly client: CopilotClient
  readonly live: CopilotAgent
  session: CopilotSession

  private constructor(
    world: World,
    skills: SkillRuntime,
    client: CopilotClient,
    live: CopilotAgent,
    session: CopilotSession,
  ) {
    this.world = world
    this.skills = skills
    this.client = client
    this.live = live
    this.session = session
  }

  static async open(
    options: Options = {},
    config: Partial<SessionConfig> = {},
    world?: World,
  ): Promise<Chat> {
    const opened = world ?? (await World.open())
    const [skills, client] = await Promise.all([opened.createSkills(), startClient(opened)])
    const live = copilot(skills, { id: 'chat-1', ...options })
    const session = await live.open(client, { ...createConfig(opened), ...config })
    return new Chat(opened, skills, client, live, session)
  }

  get requests(): ModelRequest[] {
    return this.world.server.requests
  }

  get last(): ModelRequest | undefined {
    return this.requests.at(-1)
  }

  /** Returns what the last request adds to the request before it. */
  get news(): string {
    return addedText(this.requests.at(-2), this.last as ModelRequest)
  }

  async say(...replies: readonly Reply[]): Promise<void> {
    this.world.server.play(...replies)
    await ask(this.session, 'Go on.')
  }

  addMaps(): void {
    this.world.prepare(() => this.world.folder.writeSkill('maps'))
  }

  editRefund(): void {
    this.world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
  }

  /** Ends the process, and opens the session in another one. */
  async restart(options: Options = {}): Promise<Chat> {
    this.live[Symbol.dispose]()
    await this.client.stop()
    return await Chat.open(options, {}, this.world)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.live[Symbol.dispose]()
    await this.client.stop()
    await this.world[Symbol.asyncDispose]()
  }
}

describe('the configuration of the host', () => {
  test('its hooks run first, and their contexts stay before those of the adapter', async () => {
    const calls: string[] = []
    const hooks: SessionHooks = {
      onUserPromptSubmitted: () => ({ additionalContext: 'Be brief.' }),
      onPostToolUse: ({ toolName }) => ({ additionalContext: `After ${toolName}.` }),
      onAgentStop: () => void calls.push('stop'),
      onSessionEnd: () => void calls.push('end'),
    }
    await using chat = await Chat.open({}, { hooks, onEvent: ({ type }) => void calls.push(type) })
    chat.addMaps()
    await chat.say(EDIT, DONE)
    expect(chat.requests[0]?.text).toMatch(/Be brief\..*available_skills/s)
    expect(chat.news).toMatch(/After edit\..*added: maps/s)
    expect(calls).toEqual(expect.arrayContaining(['stop', 'end', 'user.message', 'session.idle']))
  })

  test('a hook that refuses a call wins', async () => {
    const hooks: SessionHooks = {
      onPreToolUse: ({ toolName }) =>
        toolName === 'edit'
          ? { permissionDecision: 'deny', permissionDecisionReason: 'No edits on Sundays.' }
          : undefined,
    }
    await using chat = await Chat.open({ allowedTools: 'enforce' }, { hooks })
    chat.world.folder.write('strict/SKILL.md', strictSkill())
    await chat.say(load('strict'), EDIT, DONE)
    expect(chat.news).toContain('No edits on Sundays.')
    expect(chat.news).not.toContain('may not be called')
  })

  test('a hook that fails keeps neither a notice nor a refusal from the model', async () => {
    const fail = (): never => {
      throw new Error('broken')
    }
    const hooks = { onUserPromptSubmitted: fail, onPreToolUse: fail, onPostToolUse: fail }
    await using chat = await Chat.open({ allowedTools: 'enforce' }, { hooks })
    chat.world.folder.write('strict/SKILL.md', strictSkill())
    await chat.say(load('strict'), EDIT, DONE)
    expect(chat.requests[0]?.text).toContain('available_skills')
    expect(chat.news).toContain('may not be called')
  })

  test('a prompt that a hook changes can invoke a skill', async () => {
    await using chat = await Chat.open(
      {},
      { hooks: { onUserPromptSubmitted: () => ({ modifiedPrompt: '/refund order 7' }) } },
    )
    await chat.say(DONE)
    expect(countText(chat.last, 'form ONE')).toBe(1)
    expect(chat.last?.text).toContain('/refund order 7')
  })

  test('a set of tools gets the skill tools', async () => {
    await using chat = await Chat.open({}, { availableTools: new ToolSet().addCustom('edit') })
    await chat.say(DONE)
    const tools = (chat.last?.body.tools ?? []) as { name: string }[]
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['edit', 'load_skill', 'read_skill_file']),
    )
  })

  test('a tool with the name of a skill tool is refused, unless the skill tool is renamed', async () => {
    await using chat = await Chat.open()
    const mine: Tool = { name: 'load_skill', description: 'Mine.', handler: () => '' }
    const config = { ...createConfig(chat.world), sessionId: 'chat-2', tools: [mine] }
    using refused = copilot(chat.skills, { id: 'chat-2' })
    await expect(refused.open(chat.client, config)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(/"load_skill" .*rename your tool, or set "skillToolName"/),
    })
    using renamed = copilot(chat.skills, { id: 'chat-3', skillToolName: 'use_skill' })
    await ask(await renamed.open(chat.client, { ...config, sessionId: 'chat-3' }), 'Begin.')
    expect(JSON.stringify(chat.last?.body.tools)).toContain('use_skill')
  })

  test.each([
    [{ delivery: 'rebuild' }, /delivery is "rebuild"; use "append"/],
    [{ commandTools: true }, /the tools of a session never change/],
    [{ scopes: {} }, /"scopes"/],
    [{ allowedTools: 'strict' }, /"strict"/],
  ])('the wrong options %o are refused', async (options, message) => {
    await using chat = await Chat.open()
    const open = (): CopilotAgent => copilot(chat.skills, { id: 'chat-2', ...options } as CopilotOptions)
    expect(open).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringMatching(message) }),
    )
  })

  test('a second conversation with the same id is refused', async () => {
    await using chat = await Chat.open()
    expect(() => copilot(chat.skills, { id: 'chat-1' })).toThrow(/chat-1/)
  })
})

describe('parallel tool calls', () => {
  test('only one of their results has the notice', async () => {
    await using world = await World.open()
    const skills = await world.createSkills()
    using live = copilot(skills, { id: 'chat-1' })
    let hooks: SessionHooks = {}
    const session = { getEvents: () => Promise.resolve([]) }
    const create = (config: SessionConfig): Promise<typeof session> => {
      hooks = config.hooks ?? {}
      return Promise.resolve(session)
    }
    const client = {
      start: () => Promise.resolve(),
      getSessionMetadata: () => Promise.resolve(undefined),
      createSession: create,
      resumeSession: async (_id: string, config: SessionConfig) => await create(config),
    }
    await live.open(client, createConfig(world))
    const [base, invocation] = [
      { sessionId: 'chat-1', timestamp: new Date(), workingDirectory: '' },
      { sessionId: 'chat-1' },
    ]
    await hooks.onUserPromptSubmitted?.({ ...base, prompt: 'Begin.' }, invocation)
    world.folder.writeSkill('maps')
    const toolResult = { textResultForLlm: '', resultType: 'success' } as const
    const results = ['one', 'two', 'three'].map(
      async toolName =>
        await hooks.onPostToolUse?.({ ...base, toolName, toolArgs: {}, toolResult }, invocation),
    )
    const contexts = (await Promise.all(results)).flatMap(result => result?.additionalContext ?? [])
    expect(contexts).toEqual([expect.stringContaining('added: maps')])
  })
})

describe('allowed-tools', () => {
  test('a tool that a loaded skill does not allow is refused in this turn only', async () => {
    await using chat = await Chat.open({ allowedTools: 'enforce' })
    chat.world.folder.write('strict/SKILL.md', strictSkill())
    let edits = 0
    chat.world.prepare(() => edits++)
    await chat.say(load('strict'), EDIT, DONE)
    expect(edits).toBe(0)
    expect(chat.news).toContain('may not be called in this way while')
    await chat.say(EDIT, DONE)
    expect(edits).toBe(1)
  })

  test('the call after a refused call has the notice', async () => {
    const hooks: SessionHooks = {
      onPreToolUse: async ({ toolName }) => {
        if (toolName === 'edit') chat.world.folder.writeSkill('maps')
        await chat.skills.fresh()
      },
    }
    await using chat: Chat = await Chat.open({ allowedTools: 'enforce' }, { hooks })
    chat.world.folder.write('strict/SKILL.md', strictSkill())
    await chat.say(load('strict'), EDIT, DONE)
    expect(chat.news).toMatch(/may not be called.*added: maps/s)
    await chat.say(DONE)
    expect(countText(chat.last, 'added: maps')).toBe(1)
  })
})

describe('a tool of the host that fails', () => {
  const failing = (world: World): Tool => ({
    name: 'break',
    description: 'Fails.',
    handler: async () => {
      await world.edit.run()
      return { textResultForLlm: 'Broken.', resultType: 'failure' }
    },
  })

  test('gets the notice once, and again after a restart, because the runtime does not store it', async () => {
    const world = await World.open()
    const tools = [failing(world)]
    await using chat = await Chat.open({}, { tools, availableTools: ['break'] }, world)
    chat.addMaps()
    await chat.say({ kind: 'call', name: 'break', input: {} }, DONE)
    expect(countText(chat.last, 'added: maps')).toBe(1)
    await chat.say(DONE)
    expect(countText(chat.last, 'added: maps')).toBe(1)
    await using next = await chat.restart()
    await next.say(DONE)
    expect(countText(next.last, 'added: maps')).toBe(1)
  })
})

describe('a stopped turn', () => {
  test('a load whose result the runtime drops leaves no trace', async () => {
    const hooks: SessionHooks = {
      onPreToolUse: ({ toolName }) => {
        if (toolName === 'load_skill') void chat.session.abort()
      },
    }
    await using chat: Chat = await Chat.open({}, { hooks })
    await chat.say(load('refund'), DONE)
    expect(chat.requests).toHaveLength(1)
    await chat.say(DONE)
    expect(chat.last?.text).not.toContain('form ONE')
    expect(chat.live.session.ledger.entries()).toEqual([])
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })

  test('a process that is killed in the middle of a turn reports again what the turn reported', async () => {
    await using chat = await Chat.open()
    await chat.say(DONE)
    chat.world.prepare(() => chat.world.folder.writeSkill('maps'))
    chat.world.server.play(EDIT, { kind: 'hold' })
    await chat.session.send('Begin.')
    await expect.poll(() => chat.requests.length).toBe(3)
    expect(countText(chat.last, 'added: maps')).toBe(1)
    await chat.client.forceStop()
    await using next = await chat.restart()
    await next.say(DONE)
    expect(next.news).toContain('maps')
  })
})

describe('the event log', () => {
  test('a session that is truncated to its start begins with the newest catalog', async () => {
    await using chat = await Chat.open()
    chat.addMaps()
    await chat.say(load('refund'), EDIT, DONE)
    await takeBack(chat.session, 1)
    await chat.say(DONE)
    expect(chat.last?.text).not.toMatch(/added: maps|form ONE/)
    expect(countText(chat.last, 'Does what maps does. Use it for all about maps.')).toBe(1)
    expect(chat.live.session.ledger.entries()).toEqual([])
  })

  test('a session that is truncated after a restart forgets what the removed turns loaded', async () => {
    await using chat = await Chat.open()
    await chat.say(DONE)
    chat.addMaps()
    await chat.say(load('refund'), EDIT, DONE)
    await using next = await chat.restart()
    await takeBack(next.session, 1)
    await next.say(DONE)
    expect(countText(next.last, 'added: maps')).toBe(1)
    expect(next.live.session.ledger.entries()).toEqual([])
    expect(countBrokenPrefixes([next.requests[0], next.last] as ModelRequest[])).toBe(0)
  })

  test('a conversation can open its session again in the same process', async () => {
    await using chat = await Chat.open()
    chat.addMaps()
    await chat.say(load('refund'), EDIT, DONE)
    await chat.session.disconnect()
    chat.editRefund()
    chat.session = await chat.live.open(chat.client, createConfig(chat.world))
    await chat.say(DONE)
    expect(countText(chat.last, 'added: maps')).toBe(1)
    expect(chat.news).toContain('you loaded refund')
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
  })

  test('a damaged record is refused when the session is opened', async () => {
    await using chat = await Chat.open()
    await chat.say(DONE)
    chat.live[Symbol.dispose]()
    await chat.client.stop()
    const file = chat.world.stateFolder.at('home/session-state/chat-1/events.jsonl')
    writeFileSync(file, readFileSync(file, 'utf8').replace('"base":{', '"base":{"version":99},"was":{'))
    const client = await startClient(chat.world)
    using live = copilot(chat.skills, { id: 'chat-1' })
    const opening = live.open(client, createConfig(chat.world))
    await expect(opening).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    await client.stop()
  })

  test('a session that began without the adapter gets the catalog with its next prompt', async () => {
    await using world = await World.open()
    const client = await startClient(world)
    const config = { ...createConfig(world), sessionId: 'chat-1' }
    await ask(await client.createSession(config), 'Begin.')
    await client.stop()
    const chat = await Chat.open({}, {}, world)
    await chat.say(load('refund'), DONE)
    expect(chat.requests[1]?.text).toContain('available_skills')
    expect(chat.news).toContain('form ONE')
    await chat.client.stop()
  })
})

describe('a compaction', () => {
  test('before a restart brings the skill back once, at its live revision', async () => {
    await using chat = await Chat.open()
    await chat.say(load('refund'), DONE)
    await chat.session.rpc.history.compact()
    chat.editRefund()
    await using next = await chat.restart()
    await next.say(DONE)
    expect(countText(next.last, 'form TWO')).toBe(1)
    expect(countText(next.last, '<available_skills>')).toBe(1)
    await next.say(DONE)
    expect(countText(next.last, 'form TWO')).toBe(1)
    await using last = await next.restart()
    await last.say(DONE)
    expect(countText(last.last, 'form TWO')).toBe(1)
    expect(countText(last.last, '<available_skills>')).toBe(1)
  })

  test('that is taken back with its turn brings the older catalog and load back', async () => {
    await using chat = await Chat.open()
    await chat.say(load('refund'), DONE)
    await chat.say(DONE)
    await chat.session.rpc.history.compact()
    await chat.say(DONE)
    const before = chat.requests[2] as ModelRequest
    await takeBack(chat.session, 2)
    chat.editRefund()
    await chat.say(DONE)
    expect(countText(chat.last, '<available_skills>')).toBe(1)
    expect(countText(chat.last, 'form ONE')).toBe(1)
    expect(countText(chat.last, 'you loaded refund')).toBe(1)
    expect(before.parts.slice(0, -1)).toEqual(chat.last?.parts.slice(0, before.parts.length - 1))
  })

  test('restores skills only within the cap', async () => {
    await using chat = await Chat.open({ rebase: { maxTokens: 1 } })
    await chat.say(load('refund'), DONE)
    await chat.session.rpc.history.compact()
    await chat.say(DONE)
    expect(chat.last?.text).toContain('available_skills')
    expect(chat.last?.text).not.toContain('form ONE')
    expect(chat.live.session.ledger.entries()).toEqual([])
  })

  test('inside a turn brings the skill back with the next result of a tool', async () => {
    await using world = await World.open()
    const answer = (request: string): RelayAnswer | undefined =>
      request.includes('create a detailed summary') ? { kind: 'text', text: 'A summary.' } : undefined
    await using relay = await Relay.start(world, { answer })
    const { provider } = createConfig(world, relay.url)
    const [backgroundCompactionThreshold, bufferExhaustionThreshold] = [0.0001, 0.0002]
    const infiniteSessions = { backgroundCompactionThreshold, bufferExhaustionThreshold }
    await using chat = await Chat.open({}, { provider, infiniteSessions }, world)
    chat.world.prepare(() => chat.editRefund())
    await chat.say(load('refund'), EDIT, EDIT, DONE)
    expect(chat.last?.text).toContain('A summary.')
    expect(countText(chat.last, '<available_skills>')).toBe(1)
    expect(countText(chat.last, 'form TWO')).toBe(1)
  })

  test('by a clear of the context brings the skill back, too', async () => {
    const plan: Tool = {
      name: 'plan',
      description: 'Starts with a new plan.',
      isTerminal: true,
      handler: async () => {
        await chat.session.rpc.history.clearContext({ prompt: 'A new plan.' })
        return 'Cleared.'
      },
    }
    await using chat: Chat = await Chat.open({}, { tools: [plan], availableTools: ['plan'] })
    await chat.say(load('refund'), { kind: 'call', name: 'plan', input: {} }, DONE)
    await chat.say(DONE)
    expect(chat.last?.text).toContain('A new plan.')
    expect(countText(chat.last, '<available_skills>')).toBe(1)
    expect(countText(chat.last, 'form ONE')).toBe(1)
  })
})

/** A session whose main agent hands its work to a subagent. */
class Team implements AsyncDisposable {
  readonly chat: Chat
  readonly delegation: Delegation
  readonly #relay: Relay

  private constructor(chat: Chat, delegation: Delegation, relay: Relay) {
    this.chat = chat
    this.delegation = delegation
    this.#relay = relay
  }

  static async open(options: Options = {}): Promise<Team> {
    const world = await World.open()
    const delegation = new Delegation()
    const relay = await Relay.start(world, { answer: request => delegation.answer(request) })
    const { provider } = createConfig(world, relay.url)
    return new Team(await Chat.open(options, { provider }, world), delegation, relay)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.chat.client.stop()
    await this.#relay[Symbol.asyncDispose]()
    await this.chat[Symbol.asyncDispose]()
  }
}

describe('subagents', () => {
  test('a subagent without a scope gets no catalog, but may load a skill, and learns of its changes', async () => {
    await using team = await Team.open()
    const { chat, delegation } = team
    delegation.begin()
    chat.world.prepare(() => chat.editRefund())
    await chat.say(load('refund'), EDIT, DONE)
    const [first, second, last] = chat.requests
    expect(first?.text).toContain(RESEARCHER)
    expect(first?.text).not.toContain('available_skills')
    expect(second?.text).toContain('form ONE')
    expect(countText(last, 'you loaded refund')).toBe(1)
    expect(countBrokenPrefixes(chat.requests)).toBe(0)
    expect(chat.live.session.ledger.entries()).toEqual([])
  })

  test('each run of a subagent has its own catalog, and uses a skill once for each call', async () => {
    await using team = await Team.open({ agents: { researcher: { include: ['refund', 'maps'] } } })
    const { chat, delegation } = team
    delegation.begin()
    chat.addMaps()
    await chat.say(load('refund'), load('orders'), EDIT, DONE)
    const [, , third, fourth] = chat.requests
    expect(third?.text).toMatch(/no skill .*orders/)
    expect(countText(fourth, 'added: maps')).toBe(1)
    expect(chat.world.callIds).toEqual(['toolu_1'])
    chat.requests.splice(0)
    delegation.begin()
    await chat.say(DONE)
    expect(countText(chat.last, 'Does what maps does. Use it for all about maps.')).toBe(1)
    expect(chat.last?.text).not.toMatch(/added: maps|form ONE|orders/)
  })

  test('a restriction of the main agent applies to its subagents', async () => {
    await using team = await Team.open({ allowedTools: 'enforce' })
    const { chat, delegation } = team
    const task = 'allowed-tools: task\n'
    chat.world.folder.write('strict/SKILL.md', strictSkill().replace('allowed-tools: Read\n', task))
    let edits = 0
    chat.world.prepare(() => edits++)
    delegation.begin('sync', { kind: 'call', name: 'load_skill', input: { name: 'strict' } })
    await chat.say(EDIT, DONE)
    expect(chat.last?.text).toContain(RESEARCHER)
    expect(chat.last?.text).toContain('may not be called in this way while')
    expect(edits).toBe(0)
  })

  test('a notification of a background agent does not take a notice away', async () => {
    await using team = await Team.open({ agents: { researcher: {} } })
    const { chat, delegation } = team
    const notified = new Promise<void>(resolve => {
      chat.session.on('system.notification', () => resolve())
    })
    delegation.begin('background')
    chat.addMaps()
    await chat.say(EDIT, DONE)
    await notified
    await chat.say(DONE)
    const findLast = (): ModelRequest | undefined =>
      chat.requests.findLast(({ text }) => text.includes('system_notification') && !text.includes(RESEARCHER))
    await expect.poll(() => countText(findLast(), 'added: maps')).toBe(1)
  })
})

describe('a message that begins with a slash and a skill', () => {
  test('gets the instructions of the skill', async () => {
    await using chat = await Chat.open()
    await ask(chat.session, '/refund order 7')
    expect(countText(chat.last, 'form ONE')).toBe(1)
    chat.editRefund()
    await using next = await chat.restart()
    await ask(next.session, '/unknown')
    expect(next.news).toMatch(/\/unknown.*you loaded refund/s)
    expect(countBrokenPrefixes(next.requests)).toBe(0)
  })
})

describe('docs/sdks/copilot.md', () => {
  afterEach(() => void vi.unstubAllEnvs())

  test('shows a program that continues its conversation in the next process', async () => {
    await using world = await World.open()
    vi.stubEnv('MODEL_URL', `${world.server.url}/v1`)
    const run = (question: string): Promise<string> =>
      main(world.folder.path, world.stateFolder.path, question)
    world.server.play(load('refund'), DONE)
    expect(await run('Begin.')).toBe('Done.')
    world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
    await run('Again.')
    const { requests } = world.server
    expect(countText(requests.at(-1), 'you loaded refund')).toBe(1)
    expect(countBrokenPrefixes(requests)).toBe(0)
  })

  test('shows the whole program', () => {
    const page = readFileSync('docs/sdks/copilot.md', 'utf8')
    const [, shown] = /```ts\n(.*?)```/s.exec(page) ?? []
    expect(shown).toBe(readFileSync('tests/sdks/examples/copilot.ts', 'utf8'))
  })
})
