import { readFileSync } from 'node:fs'
import {
  createSdkMcpServer,
  InMemorySessionStore,
  type Options,
  query,
  type SDKUserMessage,
} from '@anthropic-ai/claude-agent-sdk'
import {
  type ClaudeAgent,
  type ClaudeAgentOptions,
  claudeAgent,
  toStateStore,
} from '@skillstoke/adapters/claude-agent-sdk'
import type { SkillRuntime } from '@skillstoke/core'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  ask,
  claudeAgentHarness,
  createEnv,
  createOptions,
  createStore,
  planDelegation,
} from './claude-agent-sdk.ts'
import { claudeCodeSkillsHarness } from './claude-code-skills.ts'
import { main } from './examples/claude-agent-sdk.ts'
import { addedText, countBrokenPrefixes, type ModelRequest, type Reply } from './model-server.ts'
import { Relay } from './relay.ts'
import { testHarness } from './test-harness.ts'
import { World } from './world.ts'

for (const harness of [claudeAgentHarness, claudeCodeSkillsHarness]) testHarness(harness)

const DONE: Reply = { kind: 'text', text: 'Done.' }
const EDIT: Reply = { kind: 'call', name: 'edit', input: {} }
const RESEARCH: Reply = start('researcher')
const load = (name: string): Extract<Reply, { kind: 'call' }> => ({
  kind: 'call',
  name: 'skill',
  input: { name },
})

/** A system prompt that Claude Code renders again for each request. */
const UNRECORDED = { type: 'custom', prompt: 'You help.', snapshot: false } as const

/** A call that starts a subagent. Without a type, Claude Code starts one of the type `general-purpose`. */
function start(type?: string): Reply {
  const named = type === undefined ? {} : { subagent_type: type }
  const input = { description: 'Research', prompt: 'Begin.', ...named, run_in_background: false }
  return { kind: 'call', name: 'Agent', input }
}

let world: World
let skills: SkillRuntime

beforeEach(async () => {
  world = await World.open()
  skills = await world.createSkills()
})

afterEach(async () => {
  await world[Symbol.asyncDispose]()
})

async function open(options: Partial<ClaudeAgentOptions> = {}): Promise<ClaudeAgent> {
  return await claudeAgent(skills, { id: 'chat-1', ...options })
}

/** Asks a question while the model answers with these replies. */
async function say(
  live: ClaudeAgent,
  replies: readonly Reply[],
  yours: Partial<Options> = {},
): Promise<void> {
  world.server.play(...replies)
  await ask('Begin.', live.options({ ...createOptions(world), ...yours }))
}

/** Asks questions in one process. Each question is sent after the answer to the question before it. */
async function stream(live: ClaudeAgent, questions: readonly string[]): Promise<void> {
  let answered = Promise.withResolvers<void>()
  async function* prompts(): AsyncGenerator<SDKUserMessage> {
    for (const content of questions) {
      yield { type: 'user', message: { role: 'user', content }, parent_tool_use_id: null }
      await answered.promise
      answered = Promise.withResolvers()
    }
  }
  for await (const message of query({ prompt: prompts(), options: live.options(createOptions(world)) }))
    if (message.type === 'result') answered.resolve()
}

function last(): ModelRequest {
  const request = world.server.requests.at(-1)
  if (request === undefined) throw new Error('the agent sent no request')
  return request
}

function countText(text: string): number {
  return last().text.split(text).length - 1
}

/** The text that the newest request added to the request before it. */
function news(): string {
  return addedText(world.server.requests.at(-2), last())
}

function addMaps(): void {
  world.prepare(() => world.folder.writeSkill('maps'))
}

describe('options()', () => {
  test('merges servers, hooks, allowed tools and subagents of the host', async () => {
    using live = await open({ agents: { researcher: {} } })
    const hook = (): Promise<object> => Promise.resolve({})
    const server = createSdkMcpServer({ name: 'yours' })
    const yours = {
      maxTurns: 3,
      mcpServers: { yours: server },
      allowedTools: ['Read'],
      hooks: { Stop: [{ hooks: [hook] }], Notification: [{ hooks: [hook] }] },
      agents: {
        researcher: { description: 'Researches.', prompt: 'Search.', tools: ['Read'] },
        writer: { description: 'Writes.', prompt: 'Write.', tools: ['Write'] },
      },
    } satisfies Options
    const { maxTurns, mcpServers, allowedTools, hooks, agents } = live.options<Options>(yours)
    const reading = ['mcp__skills__skill', 'mcp__skills__read_skill_file']
    expect(maxTurns).toBe(3)
    expect(Object.keys(mcpServers ?? {})).toEqual(['yours', 'skills'])
    expect(allowedTools).toEqual(['Read', ...reading])
    expect(hooks?.Stop?.[0]).toBe(yours.hooks.Stop[0])
    expect(hooks?.Stop).toHaveLength(2)
    expect(hooks?.Notification).toHaveLength(1)
    expect(agents?.['researcher']?.tools).toEqual(['Read', ...reading])
    expect(agents?.['writer']?.tools).toEqual(['Write'])
  })

  test.each<[Options['systemPrompt'], (catalog: string) => Options['systemPrompt']]>([
    [undefined, catalog => catalog],
    ['', catalog => catalog],
    ['You help.', catalog => `You help.\n\n${catalog}`],
    [['You help.', 'Be brief.'], catalog => ['You help.', 'Be brief.', catalog]],
    [
      { type: 'custom', prompt: 'You help.', snapshot: false },
      catalog => ({ type: 'custom', prompt: `You help.\n\n${catalog}`, snapshot: false }),
    ],
    [
      { type: 'custom', prompt: ['You help.'] },
      catalog => ({ type: 'custom', prompt: ['You help.', catalog] }),
    ],
    [
      { type: 'preset', preset: 'claude_code' },
      catalog => ({ type: 'preset', preset: 'claude_code', append: catalog }),
    ],
    [
      { type: 'preset', preset: 'claude_code', append: 'Be brief.' },
      catalog => ({ type: 'preset', preset: 'claude_code', append: `Be brief.\n\n${catalog}` }),
    ],
  ])('adds the catalog to the system prompt %j', async (systemPrompt, expected) => {
    using live = await open()
    const yours: Options = systemPrompt === undefined ? {} : { systemPrompt }
    expect(live.options(yours).systemPrompt).toEqual(expected(live.session.catalog))
  })

  test('refuses a server of the host with the name of its own server', async () => {
    using live = await open()
    const mcpServers = { skills: createSdkMcpServer({ name: 'skills' }) }
    expect(() => live.options({ mcpServers })).toThrow('rename your server')
  })

  test('resumes the session, unless the host chooses a session', async () => {
    using live = await open({ store: createStore(world) })
    expect(live.options<Options>().resume).toBeUndefined()
    await say(live, [DONE])
    const { sessionId } = live
    expect(sessionId).toBeDefined()
    expect(live.options<Options>().resume).toBe(sessionId)
    expect(live.options<Options>({ resume: 'yours' }).resume).toBe('yours')
    expect(live.options<Options>({ continue: true }).resume).toBeUndefined()
    expect(live.options<Options>({ sessionId: 'yours' }).resume).toBeUndefined()
  })

  test('the delivery "rebuild" is refused', async () => {
    const delivery = 'rebuild' as 'append'
    await expect(open({ delivery })).rejects.toThrow('delivery is "rebuild"')
  })
})

describe('the hooks of the host', () => {
  test('add their texts next to the notices', async () => {
    using live = await open()
    addMaps()
    const add = (hookEventName: 'UserPromptSubmit' | 'PostToolBatch') => (): Promise<object> =>
      Promise.resolve({
        hookSpecificOutput: { hookEventName, additionalContext: `Mind the ${hookEventName}.` },
      })
    const hooks = {
      UserPromptSubmit: [{ hooks: [add('UserPromptSubmit')] }],
      PostToolBatch: [{ hooks: [add('PostToolBatch')] }],
    }
    await say(live, [EDIT, DONE], { hooks })
    expect(last().text).toContain('Mind the UserPromptSubmit.')
    expect(news()).toContain('Mind the PostToolBatch.')
    expect(news()).toContain('added: maps')
  })

  test('a prompt after a blocked prompt gets the notice again', async () => {
    using live = await open()
    world.folder.writeSkill('maps')
    const block = (): Promise<object> => Promise.resolve({ decision: 'block', reason: 'Not now.' })
    await say(live, [DONE], { hooks: { UserPromptSubmit: [{ hooks: [block] }] } })
    expect(world.server.requests).toHaveLength(0)
    await say(live, [DONE])
    expect(countText('added: maps')).toBe(1)
    await say(live, [DONE])
    expect(countText('added: maps')).toBe(1)
  })
})

describe('allowedTools: "enforce"', () => {
  beforeEach(() => {
    const head = 'name: strict\ndescription: Reads only.\nallowed-tools: Read'
    world.folder.write('strict/SKILL.md', `---\n${head}\n---\nOnly read.\n`)
  })

  test('denies a tool of the host that a loaded skill does not allow', async () => {
    using live = await open({ allowedTools: 'enforce' })
    const change = vi.fn()
    world.prepare(change)
    await say(live, [EDIT, load('strict'), EDIT, DONE])
    expect(change).toHaveBeenCalledTimes(1)
    expect(countText('may not be called in this way while')).toBe(1)
  })

  test('a skill that a subagent has loaded restricts only the subagent', async () => {
    using live = await open({ allowedTools: 'enforce', agents: { researcher: {} } })
    const change = vi.fn()
    world.prepare(change)
    await say(live, [RESEARCH, load('strict'), EDIT, DONE, EDIT, DONE])
    expect(change).toHaveBeenCalledTimes(1)
    expect(world.server.requests[3]?.text.includes('may not be called in this way while')).toBe(true)
    expect(countText('may not be called in this way while')).toBe(0)
  })

  test('allows the tool again in the next turn', async () => {
    using live = await open({ allowedTools: 'enforce' })
    const change = vi.fn()
    world.prepare(change)
    await say(live, [load('strict'), EDIT, DONE])
    expect(change).not.toHaveBeenCalled()
    await say(live, [EDIT, DONE])
    expect(change).toHaveBeenCalledTimes(1)
  })
})

describe('a conversation', () => {
  test('of several questions in one process gets the changes between and within the turns', async () => {
    using live = await open()
    world.prepare(() => world.folder.remove('orders'))
    world.server.play(DONE, EDIT, DONE)
    const streamed = stream(live, ['First.', 'Second.'])
    await world.server.received()
    world.folder.writeSkill('maps')
    await streamed
    const [first, second, third] = world.server.requests
    expect(first?.text.includes('added: maps')).toBe(false)
    expect(second?.text.includes('added: maps')).toBe(true)
    expect(third?.text.includes('removed: orders')).toBe(true)
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
  })

  test('has valid cache breakpoints, and the catalog is before the first', async () => {
    using live = await open()
    addMaps()
    await say(live, [load('refund'), EDIT, DONE])
    for (const { body } of world.server.requests) {
      const marks = JSON.stringify(body).split('"cache_control"').length - 1
      expect(marks).toBeGreaterThan(0)
      expect(marks).toBeLessThanOrEqual(4)
      const system = body['system'] as readonly { readonly text: string; readonly cache_control?: object }[]
      expect(system.find(({ text }) => text.includes('<available_skills>'))?.cache_control).toBeDefined()
    }
  })

  test('does not leak into another conversation of the runtime', async () => {
    using first = await open()
    using second = await open({ id: 'chat-2', scope: { exclude: ['secret*'] } })
    await say(first, [load('refund'), DONE])
    world.prepare(() => {
      world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
      world.folder.writeSkill('secret-two')
    })
    await say(second, [EDIT, DONE])
    expect(news().includes('you loaded refund')).toBe(false)
    expect(last().text.includes('secret')).toBe(false)
    await say(first, [DONE])
    expect(countText('you loaded refund')).toBe(1)
    expect(countText('added: secret-two')).toBe(1)
  })

  test('invokes a skill with a slash', async () => {
    using live = await open()
    world.server.play(DONE)
    await ask('/refund 12 dollars', live.options(createOptions(world)))
    expect(countText('Refunds need form ONE.')).toBe(1)
    expect(live.session.ledger.entries().map(({ name }) => name)).toEqual(['refund'])
  })

  test('that was cleared forgets the loaded skills', async () => {
    using live = await open()
    await say(live, [load('refund'), DONE])
    const { sessionId } = live
    await ask('/clear', live.options(createOptions(world)))
    expect(live.sessionId).not.toBe(sessionId)
    world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
    await say(live, [DONE])
    expect(last().text.includes('you loaded')).toBe(false)
    expect(live.session.ledger.entries()).toEqual([])
  })

  test('that goes on from an earlier message forgets what came after it', async () => {
    using live = await open()
    let answer = ''
    world.server.play(DONE)
    for await (const message of query({ prompt: 'First.', options: live.options(createOptions(world)) }))
      if (message.type === 'assistant') answer = message.uuid
    const state = live.session.state()
    addMaps()
    await say(live, [load('refund'), EDIT, DONE])
    live.session.revert(state)
    await say(live, [DONE], { resumeSessionAt: answer })
    expect(countText('First.')).toBe(1)
    expect(countText('Refunds need form ONE.')).toBe(0)
    expect(countText('added: maps')).toBe(1)
    expect(live.session.ledger.entries()).toEqual([])
  })

  test('has forks of its own, and refuses a fork that would take its notices', async () => {
    using live = await open()
    await say(live, [load('refund'), DONE])
    expect(() => live.options({ forkSession: true })).toThrow('fork()')
    const sessionId = '00000000-0000-4000-8000-000000000000' // of forkSession()
    using copy = live.fork('chat-2', sessionId)
    world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
    expect(copy.options()).toMatchObject({ resume: sessionId })
    expect(copy.options()).not.toHaveProperty('forkSession')
    expect(copy.session.ledger.entries().map(({ name }) => name)).toEqual(['refund'])
    expect(live.options()).toMatchObject({ resume: live.sessionId })
  })

  test('gives its id free when it is disposed', async () => {
    const live = await open()
    await expect(open()).rejects.toThrow('chat-1')
    live[Symbol.dispose]()
    using again = await open()
    expect(again.sessionId).toBeUndefined()
  })
})

describe('an aborted query', () => {
  test('reports a change within the turn only once', async () => {
    using live = await open()
    const abortController = new AbortController()
    world.prepare(() => {
      world.folder.writeSkill('maps')
      void world.server.received().then(() => abortController.abort())
    })
    await expect(say(live, [EDIT, { kind: 'hold' }], { abortController })).rejects.toThrow('abort')
    expect(countText('added: maps')).toBe(1)
    await say(live, [DONE])
    expect(countText('added: maps')).toBe(1)
    expect(countText('Begin.')).toBe(2)
  })

  test('during a tool call reports a change of the prompt only once', async () => {
    using live = await open()
    world.folder.writeSkill('maps')
    const abortController = new AbortController()
    world.prepare(() => abortController.abort())
    await expect(say(live, [EDIT, DONE], { abortController })).rejects.toThrow('abort')
    await say(live, [DONE])
    expect(countText('added: maps')).toBe(1)
  })

  test('reports a change again when it was aborted during its first model call', async () => {
    using live = await open()
    world.folder.writeSkill('maps')
    const abortController = new AbortController()
    void world.server.received().then(() => abortController.abort())
    await expect(say(live, [{ kind: 'hold' }], { abortController })).rejects.toThrow('abort')
    await say(live, [DONE])
    expect(news().includes('added: maps')).toBe(true)
  })
})

describe('a compaction', () => {
  const isSummary = (request: string): boolean => request.includes('CRITICAL: Respond with TEXT ONLY')
  const summarize = (request: string): { kind: 'text'; text: string } | undefined =>
    isSummary(request) ? { kind: 'text', text: 'A summary.' } : undefined
  /** The lines of a skill that is longer than a text that one hook may return. */
  const lines = Array.from(
    { length: 300 },
    (_, index) => `Line ${index} of the instructions of this skill is here.`,
  )

  /** Asks with a model whose second answer reports that the context is full. */
  async function sayUntilFull(live: ClaudeAgent, replies: readonly Reply[], marker: string): Promise<void> {
    let count = 0
    await using relay = await Relay.start(world, {
      answer: summarize,
      countTokens: request => (request.includes(marker) && ++count === 2 ? 150_000 : 10),
    })
    await say(live, replies, {
      systemPrompt: UNRECORDED,
      env: { ...createEnv(world, relay.url), CLAUDE_CODE_AUTO_COMPACT_WINDOW: '100000' },
    })
  }

  test('in the middle of a turn brings back long skills at their newest revisions, and a new catalog', async () => {
    world.folder.writeSkill('refund', { body: ['OLD', ...lines].join('\n') })
    using live = await open({ store: createStore(world) })
    world.prepare(() => {
      world.folder.writeSkill('maps')
      world.folder.writeSkill('refund', { body: ['NEW', ...lines].join('\n') })
    })
    await sayUntilFull(live, [load('refund'), EDIT, EDIT, DONE], 'You help.')
    const [, , third, fourth] = world.server.requests
    expect(third?.text.includes('A summary.')).toBe(true)
    for (const line of ['NEW', ...lines]) expect(third?.text.split(line).length, line).toBe(2)
    expect(third?.text.includes('OLD')).toBe(false)
    expect(third?.text.includes('Output too large')).toBe(false)
    expect(third?.text.includes('<name>maps</name>')).toBe(true)
    expect(countBrokenPrefixes([third, fourth].filter(each => each !== undefined))).toBe(0)

    live[Symbol.dispose]()
    using again = await open({ store: createStore(world) })
    await say(again, [DONE], { systemPrompt: UNRECORDED })
    // Claude Code keeps the last tool call, with the notice that came after it.
    expect(countText('<skills_update')).toBe(1)
    expect(countBrokenPrefixes(world.server.requests.slice(-2))).toBe(0)
  })

  test('brings back no more than the limit', async () => {
    using live = await open({ rebase: { maxTokens: 5 } })
    await say(live, [load('refund'), DONE])
    await ask('/compact', live.options(createOptions(world)))
    await say(live, [DONE])
    expect(countText('Refunds need form ONE.')).toBe(0)
    expect(live.session.ledger.entries()).toEqual([])
  })

  test('of a subagent brings back its catalog and its skills', async () => {
    using live = await open({ agents: { researcher: { exclude: ['secret'] } } })
    world.prepare(() => world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' }))
    await sayUntilFull(live, [RESEARCH, load('refund'), EDIT, DONE, DONE], 'You are the researcher.')
    const after = world.server.requests[3]
    expect(after?.text.includes('A summary.')).toBe(true)
    expect(after?.text.includes('<name>orders</name>')).toBe(true)
    expect(after?.text.includes('Refunds need form TWO.')).toBe(true)
    expect(after?.text.includes('secret')).toBe(false)
  })
})

describe('a subagent', () => {
  test.each([
    ['of a named type', 'general-purpose'],
    ['without a type', undefined],
  ])('starts a subagent %s that sees no more than it does', async (_, type) => {
    using live = await open({ agents: { researcher: { exclude: ['secret'] } } })
    const agents = { researcher: { description: 'Researches.', prompt: 'You are the researcher.' } }
    const replies = [RESEARCH, start(type), load('secret'), DONE, DONE, load('secret'), DONE]
    await say(live, replies, { agents })
    const nested = world.server.requests[3]
    expect(nested?.text.includes('Instructions of secret')).toBe(false)
    expect(nested?.text.includes('no skill \\"secret\\"')).toBe(true)
    expect(countText('Instructions of secret')).toBe(1)
  })

  test('without a scope gets no catalog, and gets notices after it has loaded a skill', async () => {
    using live = await open()
    addMaps()
    await say(live, [start('general-purpose'), EDIT, DONE, DONE])
    const [, first, second] = world.server.requests
    expect(first?.text.includes('<available_skills>')).toBe(false)
    expect(second?.text.includes('skills_update')).toBe(false)

    world.prepare(() => world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' }))
    world.server.requests.splice(0)
    await say(live, [start('general-purpose'), load('refund'), EDIT, DONE, DONE])
    expect(world.server.requests[3]?.text.includes('you loaded refund')).toBe(true)
  })

  test('that goes on after it has ended hears what has changed, and has one catalog', async () => {
    using live = await open({ agents: { researcher: {} } })
    const { answer: delegate } = planDelegation()
    await using relay = await Relay.start(world, {
      answer(request) {
        const id = /agentId: (\w+)/.exec(request)?.[1]
        if (
          request.includes('You are the researcher.') ||
          request.includes('Resuming agent') ||
          id === undefined
        )
          return delegate?.(request)
        world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
        return { kind: 'call', name: 'SendMessage', input: { to: id, summary: 'Go on', message: 'Go on.' } }
      },
    })
    await say(live, [load('refund'), DONE, EDIT, DONE], {
      env: createEnv(world, relay.url),
      tools: ['Agent', 'SendMessage'],
    })
    expect(world.server.requests).toHaveLength(4)
    expect(countText('<available_skills>')).toBe(1)
    expect(countText('you loaded refund')).toBe(1)
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
  })
})

test('a conversation keeps at most 100 subagents open', async () => {
  using live = await open({ agents: { researcher: { include: ['refund'] } } })
  const [matcher] = live.options<Options>().hooks?.SubagentStart ?? []
  const start = matcher?.hooks[0] as unknown as (input: object, id: string) => Promise<object>
  for (let number = 0; number < 150; number++) {
    const agent = { agent_id: `agent-${number}`, agent_type: 'researcher' }
    await start({ hook_event_name: 'SubagentStart', session_id: 's', ...agent }, `event-${number}`)
  }
  const ids = skills.sessions().map(({ id }) => id)
  expect(ids).toHaveLength(101)
  expect(ids).toEqual(expect.arrayContaining(['chat-1', 'chat-1/agent-149', 'chat-1/agent-50']))
})

describe('a restart', () => {
  test('on another machine goes on from a session store of the SDK', async () => {
    const sessionStore = new InMemorySessionStore()
    const store = toStateStore(sessionStore)
    addMaps()
    {
      using live = await open({ store })
      await say(live, [load('refund'), EDIT, DONE], { sessionStore })
    }
    await skills.close()
    skills = await world.createSkills()
    world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
    using live = await open({ store })
    const home = world.stateFolder.at('other')
    const env = { ...createEnv(world), HOME: home, CLAUDE_CONFIG_DIR: `${home}/.claude` }
    await say(live, [DONE], { sessionStore, env })
    expect(countText('added: maps')).toBe(1)
    expect(countText('you loaded refund')).toBe(1)
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
  })

  test('keeps the catalog in the system prompt, also if Claude Code does not record the prompt', async () => {
    const store = createStore(world)
    addMaps()
    {
      using live = await open({ store })
      await say(live, [EDIT, DONE], { systemPrompt: UNRECORDED })
    }
    using live = await open({ store })
    await say(live, [DONE], { systemPrompt: UNRECORDED })
    expect(countText('added: maps')).toBe(1)
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
  })
})

test('a store that fails once delays the changes', async () => {
  const store = createStore(world)
  using live = await open({ store })
  world.folder.writeSkill('maps')
  vi.spyOn(store, 'save').mockRejectedValueOnce(new Error('the disk is full'))
  await say(live, [EDIT, DONE])
  expect(world.server.requests[0]?.text.includes('added: maps')).toBe(false)
  expect(countText('added: maps')).toBe(1)
})

describe('docs/sdks/claude-agent-sdk.md', () => {
  test('shows the program of the example', () => {
    const program = readFileSync('tests/sdks/examples/claude-agent-sdk.ts', 'utf8')
    expect(readFileSync('docs/sdks/claude-agent-sdk.md', 'utf8')).toContain(`\`\`\`ts\n${program}\`\`\``)
  })

  test('the program answers questions in one conversation', async () => {
    const { ANTHROPIC_BASE_URL: url, PATH: _, ...env } = createEnv(world)
    for (const [name, value] of Object.entries({ ...env, MODEL_URL: url })) vi.stubEnv(name, value)
    world.server.play({ ...load('refund'), name: 'mcp__skills__skill' }, DONE, DONE)
    expect(await main(world.folder.path, ['First.', 'Second.'])).toEqual(['Done.', 'Done.'])
    expect(countText('Refunds need form ONE.')).toBe(1)
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
    vi.unstubAllEnvs()
  })
})
