import {
  Agent,
  type AgentInputItem,
  type CallModelInputFilterArgs,
  type MCPServer,
  MemorySession,
  type Model,
  OpenAIResponsesCompactionSession,
  RunState,
  run,
  type Session,
  type Tool,
  tool,
  user,
} from '@openai/agents'
import { SandboxAgent } from '@openai/agents/sandbox'
import {
  type OpenaiAgentsChat,
  type OpenaiAgentsState,
  openaiAgents,
} from '@skillstoke/adapters/openai-agents'
import type { SkillRuntime } from '@skillstoke/core'
import OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { main } from './examples/openai-agents.ts'
import { countBrokenPrefixes, type ModelRequest, type Reply } from './model-server.ts'
import {
  chatModel,
  editTool,
  openaiAgentsHarness,
  openaiAgentsResponsesHarness,
  responsesModel,
} from './openai-agents.ts'
import { testHarness } from './test-harness.ts'
import { World } from './world.ts'

const DONE: Reply = { kind: 'text', text: 'Done.' }
const EDIT: Reply = { kind: 'call', name: 'edit', input: {} }
const LOAD: Reply = { kind: 'call', name: 'skill', input: { name: 'refund' } }
const FAIL: Reply = { kind: 'status', status: 400 }

for (const harness of [openaiAgentsHarness, openaiAgentsResponsesHarness]) testHarness(harness)

let world: World
let skills: SkillRuntime
beforeEach(async () => {
  world = await World.open()
  skills = await world.createSkills()
})
afterEach(async () => await world[Symbol.asyncDispose]())

/** Creates an agent as a user would. */
const createAgent = (
  name = 'Helper',
  tools: Tool[] = [editTool(world)],
  model: Model = chatModel(world),
): Agent => new Agent({ name, instructions: `You are ${name}.`, model, tools })

const addSkill = (name: string): void => void world.folder.writeSkill(name)
const editRefund = (): void => void world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
const lastText = (): string => world.server.requests.at(-1)?.text ?? ''
const count = (text: string): number => lastText().split(text).length - 1
const requestsOf = (name: string): ModelRequest[] =>
  world.server.requests.filter(({ text }) => text.includes(`You are ${name}.`))

describe('openaiAgents()', () => {
  test('a streamed run receives notices between two steps', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const agent = chat.agent(createAgent())
    world.prepare(() => addSkill('maps'))
    world.server.play(EDIT, DONE)
    const result = await run(agent, 'Go.', chat.options({ stream: true }))
    for await (const _ of result);
    expect(result.finalOutput).toBe('Done.')
    expect(count('added: maps')).toBe(1)
    expect(JSON.stringify(result.history)).not.toContain('added: maps')
  })

  test('a run without the options of the conversation is refused before its first model call', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const agent = chat.agent(createAgent())
    const refusal = { code: 'INVALID_OPTION', message: expect.stringContaining('chat.options()') }
    await expect(run(agent, 'Go.')).rejects.toMatchObject(refusal)
    expect(world.server.requests).toEqual([])
    world.server.play(DONE)
    await run(agent, 'Go.', chat.options())
    expect(world.server.requests).toHaveLength(1)
  })

  test('a later run without the options is refused before its second model call', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const agent = chat.agent(createAgent())
    world.server.play(DONE, EDIT, DONE)
    const { history } = await run(agent, 'Go.', chat.options())
    await expect(run(agent, [...history, user('Edit.')])).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    expect(world.server.requests).toHaveLength(2)
  })

  test('one base agent serves two conversations with two scopes, and none learns of the other', async () => {
    const base = createAgent()
    using one = openaiAgents(skills, { id: 'one', scope: { include: ['refund'] } })
    using two = openaiAgents(skills, { id: 'two', scope: { include: ['orders'] } })
    world.server.play(LOAD, DONE, DONE)
    await run(one.agent(base), 'Hello one.', one.options())
    await run(two.agent(base), 'Hello two.', two.options())
    expect(world.server.requests[1]?.text).toMatch(/refund[\s\S]*Hello one[\s\S]*form ONE/)
    expect(world.server.requests[1]?.text).not.toMatch(/orders|Hello two/)
    expect(lastText()).toMatch(/orders[\s\S]*Hello two/)
    expect(lastText()).not.toMatch(/refund|Hello one/)
    expect(base.tools.map(({ name }) => name)).toEqual(['edit'])
  })

  test('the own filter sees notices and catalog, and its changes are sent', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const agent = chat.agent(createAgent())
    world.prepare(() => addSkill('maps'))
    world.server.play(EDIT, DONE)
    const seen: string[] = []
    const callModelInputFilter = ({ modelData, context }: CallModelInputFilterArgs) => {
      seen.push(JSON.stringify([modelData, context]))
      return { input: modelData.input, instructions: `${modelData.instructions} Be brief.` }
    }
    await run(agent, 'Go.', chat.options({ callModelInputFilter, context: { user: 'Ada' } }))
    expect(seen[0]).toMatch(/You are Helper[\s\S]*refund[\s\S]*Ada/)
    expect(seen[1]).toContain('added: maps')
    expect(lastText()).toMatch(/refund[\s\S]*Be brief\.[\s\S]*added: maps/)
  })

  test('instructions may be a function', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const instructions = (): string => 'You answer in Latin.'
    const agent = chat.agent(new Agent({ name: 'Helper', instructions, model: chatModel(world) }))
    await run(agent, 'Go.', chat.options())
    expect(lastText()).toMatch(/You answer in Latin\.\\n\\n[\s\S]*refund/)
  })

  test('a model that calls a skill as a tool learns how to load the skill', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const agent = chat.agent(createAgent())
    world.server.play(
      { kind: 'call', name: 'refund', input: {} },
      { kind: 'call', name: 'weather', input: {} },
      DONE,
    )
    const { finalOutput } = await run(agent, 'Go.', chat.options())
    expect(finalOutput).toBe('Done.')
    expect(lastText()).toMatch(/it is a skill; call the tool/)
    expect(lastText()).toMatch(/there is no tool [^;]*weather[^;]*; the tools are [^}]*edit/)
  })

  test('the own formatter of tool errors and the own behaviour take precedence', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const agent = chat.agent(createAgent())
    const call: Reply = { kind: 'call', name: 'refund', input: {} }
    world.server.play(call, DONE)
    await run(agent, 'Go.', chat.options({ toolErrorFormatter: () => 'No such tool here.' }))
    expect(lastText()).toContain('No such tool here.')
    world.server.play(call)
    const strict = chat.options({ toolNotFoundBehavior: 'raise_error' })
    await expect(run(agent, 'Go.', strict)).rejects.toThrow('refund')
  })

  test('refuses a tool with the name of a skill tool', () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const clash = tool({ name: 'skill', description: '', parameters: z.object({}), execute: () => '' })
    expect(() => chat.agent(createAgent('Helper', [clash]))).toThrow(
      'your tool "skill" has the name of a skill tool',
    )
  })

  test('a slash invokes a skill, and later requests contain the same bytes', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const agent = chat.agent(createAgent())
    const { history } = await run(agent, '/refund 1042', chat.options())
    await run(agent, [...history, user('And then?')], chat.options())
    expect(history[0]).toMatchObject({ role: 'user', content: '/refund 1042' })
    expect(lastText()).toMatch(/1042[\s\S]*Refunds need form ONE[\s\S]*And then/)
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
    expect(chat.session.ledger.entries()).toMatchObject([{ name: 'refund' }])
  })

  test('a slash beside an image stays as it is', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const image = 'data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA='
    const content = [
      { type: 'input_text' as const, text: '/refund this' },
      { type: 'input_image' as const, image },
    ]
    await run(chat.agent(createAgent()), [{ role: 'user', content }], chat.options())
    expect(lastText()).toContain('/refund this')
    expect(lastText()).toContain('R0lGOD')
    expect(lastText()).not.toContain('form ONE')
  })

  test('an aborted run leaves no trace', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const agent = chat.agent(createAgent())
    const controller = new AbortController()
    world.prepare(() => {
      addSkill('maps')
      controller.abort(new Error('the user has left'))
    })
    world.server.play(LOAD, EDIT, DONE)
    await expect(run(agent, 'Go.', chat.options({ signal: controller.signal }))).rejects.toThrow(
      'the user has left',
    )
    world.server.play(DONE)
    await run(agent, 'Go again.', chat.options())
    expect(count('added: maps')).toBe(1)
    expect(chat.session.ledger.entries()).toEqual([])
  })

  test('the program of the page follows an edit in the same conversation', async () => {
    vi.stubEnv('MODEL_URL', `${world.server.url}/v1`)
    world.server.play(LOAD, DONE, LOAD, DONE)
    const questions = ['The first question.', 'The second question.']
    expect(await main(world.folder.path, questions)).toEqual(['Done.', 'Done.'])
    expect(lastText()).toMatch(/You help[\s\S]*form ONE[\s\S]*The second question/)
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
    vi.unstubAllEnvs()
  })
})

describe('history', () => {
  /** Runs turns whose history the test keeps. */
  const createHost = (chat: OpenaiAgentsChat, model: Model = chatModel(world)) => {
    const agent = chat.agent(createAgent('Helper', [editTool(world)], model))
    return async (history: readonly AgentInputItem[], text: string): Promise<AgentInputItem[]> =>
      (await run(agent, [...history, user(text)], chat.options())).history
  }

  test('a turn that the host takes back is forgotten, and its notices are sent again', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const say = createHost(chat)
    const one = await say([], 'The first question.')
    world.prepare(() => addSkill('maps'))
    world.server.play(LOAD, EDIT, DONE)
    await say(one, 'The second question.')
    expect(chat.session.ledger.entries()).toHaveLength(1)
    world.server.play(DONE)
    await say(one, 'The second question, asked better.')
    expect(count('added: maps')).toBe(1)
    expect(chat.session.ledger.entries()).toEqual([])
    expect(lastText()).not.toContain('form ONE')
  })

  test('a failed turn of which the host stored the beginning keeps its beginning', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const agent = chat.agent(createAgent())
    world.prepare(() => addSkill('maps'))
    world.server.play(LOAD, EDIT, DONE)
    const { history } = await run(agent, 'Go.', chat.options())
    world.server.play(DONE)
    await run(agent, [...history.slice(0, 3), user('Go on.')], chat.options())
    expect(chat.session.ledger.entries()).toMatchObject([{ name: 'refund' }])
    expect(lastText()).toMatch(/form ONE[\s\S]*Go on[\s\S]*added: maps/)
    expect(count('added: maps')).toBe(1)
  })

  test('a repeated turn keeps the notice at its place', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const say = createHost(chat)
    const one = await say([], 'The first question.')
    addSkill('maps')
    world.server.play(FAIL)
    await expect(say(one, 'The second question.')).rejects.toThrow('400')
    await say(one, 'The second question.')
    expect(count('added: maps')).toBe(1)
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
  })

  test('the notice of a dropped turn does not move to an equal message', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const say = createHost(chat)
    const two = await say(await say([], 'Go on.'), 'Go on.')
    addSkill('maps')
    await say(two, 'Go on.')
    await say(two, 'Another question.')
    expect(lastText()).toMatch(/Another question[\s\S]*added: maps/)
  })

  test('the notice of a dropped turn does not move before an older notice', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const say = createHost(chat)
    const one = await say([], 'Go on.')
    world.prepare(() => addSkill('maps'))
    world.server.play(EDIT, DONE)
    const two = await say(one, 'Go on.')
    world.folder.remove('maps')
    await say(two, 'Go on.')
    await say(two, 'Another question.')
    expect(lastText()).toMatch(/added: maps[\s\S]*Another question[\s\S]*removed: maps/)
  })

  test('a host that sends only the end of the history gets the loaded skills back, and nothing twice', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const say = createHost(chat)
    world.server.play(LOAD, DONE)
    let history = await say([], 'The first question.')
    for (const text of ['The second question.', 'The third question.'])
      history = await say(history.slice(-2), text)
    expect(count('Refunds need form ONE.')).toBe(1)
    editRefund()
    history = await say(history.slice(-2), 'The fourth question.')
    expect(count('Refunds need form TWO.')).toBe(1)
    expect(count('form ONE')).toBe(0)
  })

  test('a notice keeps its place when the host removes the beginning of the history', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const say = createHost(chat)
    const one = await say([], 'The first question.')
    world.prepare(() => addSkill('maps'))
    world.server.play(EDIT, DONE)
    const two = await say(one, 'The second question.')
    await say(two.slice(one.length), 'The third question.')
    expect(lastText()).toMatch(/second question[\s\S]*Edited[\s\S]*added: maps[\s\S]*third question/)
    expect(lastText()).not.toContain('first question')
    expect(world.server.requests.at(-1)?.parts[1]).toBe(world.server.requests[0]?.parts[1])
  })

  test('the host may remove the older text of a skill that was loaded again', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const say = createHost(chat)
    world.server.play(LOAD, DONE, LOAD, DONE)
    const one = await say([], 'The first question.')
    const two = await say(one, 'The second question.')
    addSkill('maps')
    await say(two.slice(one.length), 'The third question.')
    expect(lastText()).toMatch(/third question[\s\S]*added: maps/)
    expect(count('Refunds need form ONE.')).toBe(1)
    expect(chat.session.ledger.entries()).toHaveLength(1)
  })

  test('compact() keeps the items of the host, and restores only skills that they do not contain', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const say = createHost(chat)
    world.server.play({ kind: 'call', name: 'skill', input: { name: 'orders' } }, DONE, LOAD, DONE)
    const one = await say([], 'The first question.')
    const two = await say(one, 'The second question.')
    const compacted = await chat.compact([user('A summary.'), ...two.slice(one.length)])
    expect(compacted).toHaveLength(5)
    await say(compacted, 'The third question.')
    expect(count('Refunds need form ONE.')).toBe(1)
    expect(count('Instructions of orders.')).toBe(1)
    expect(lastText()).not.toContain('The first question.')
  })

  test('a new process continues with the same bytes, and reports once what changed', async () => {
    let stored: { history: AgentInputItem[]; state: OpenaiAgentsState } | undefined
    world.prepare(() => addSkill('maps'))
    world.server.play(LOAD, EDIT, DONE)
    for (const text of ['One.', 'Two.', 'Three.']) {
      await using own = await world.createSkills()
      using chat = openaiAgents(own, { id: 'chat-1', ...(stored && { resume: stored.state }) })
      const history = await createHost(chat)(stored?.history ?? [], text)
      stored = JSON.parse(JSON.stringify({ history, state: chat.state() })) as typeof stored
      if (text === 'One.') world.folder.remove('orders')
    }
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
    expect(count('added: maps')).toBe(1)
    expect(count('removed: orders')).toBe(1)
    expect(count('form ONE')).toBe(1)
  })

  test('a stored turn that the next process does not find in the history is sent again', async () => {
    world.prepare(() => addSkill('maps'))
    world.server.play(EDIT, DONE)
    let resume: OpenaiAgentsState
    {
      await using own = await world.createSkills()
      using chat = openaiAgents(own, { id: 'chat-1' })
      await createHost(chat)([], 'One.')
      resume = JSON.parse(JSON.stringify(chat.state())) as OpenaiAgentsState
    }
    using chat = openaiAgents(skills, { id: 'chat-1', resume })
    await createHost(chat)([], 'Two.')
    expect(count('added: maps')).toBe(1)
    expect(world.server.requests.at(-1)?.parts.slice(0, 2)).toEqual(
      world.server.requests[0]?.parts.slice(0, 2),
    )
  })
})

describe('sessions of the SDK', () => {
  /** A session with private fields, as users write them. */
  class PrivateSession implements Session {
    readonly #items: AgentInputItem[] = []
    getSessionId = async (): Promise<string> => await Promise.resolve('private')
    async getItems(limit?: number): Promise<AgentInputItem[]> {
      return await Promise.resolve(
        structuredClone(limit === undefined ? this.#items : this.#items.slice(-limit)),
      )
    }
    async addItems(items: AgentInputItem[]): Promise<void> {
      this.#items.push(...structuredClone(items))
      await Promise.resolve()
    }
    async popItem(): Promise<AgentInputItem | undefined> {
      return await Promise.resolve(this.#items.pop())
    }
    async clearSession(): Promise<void> {
      this.#items.length = 0
      await Promise.resolve()
    }
  }

  const texts = async (session: Session): Promise<string[]> =>
    (await session.getItems()).flatMap(item =>
      'role' in item && item.role === 'user' && typeof item.content === 'string' ? [item.content] : [],
    )

  const CASES = [MemorySession, PrivateSession].flatMap(create =>
    [false, true].map(stream => ({ create, stream })),
  )

  test.each(CASES)('$create.name stores no notices, streamed: $stream', async ({ create, stream }) => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const agent = chat.agent(createAgent())
    const session = new create()
    const say = async (text: string): Promise<void> => {
      if (!stream) return void (await run(agent, text, chat.options({ session })))
      const result = await run(agent, text, chat.options({ session, stream: true }))
      await result.completed
    }
    world.prepare(() => addSkill('maps'))
    world.server.play(LOAD, EDIT, DONE, EDIT, DONE)
    await say('The first question.')
    world.prepare(() => world.folder.remove('orders'))
    await say('/refund 12')
    await say('The third question.')
    expect(await texts(session)).toEqual(['The first question.', '/refund 12', 'The third question.'])
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
    expect(lastText()).toMatch(
      /first question[\s\S]*added: maps[\s\S]*12[\s\S]*removed: orders[\s\S]*third question/,
    )
    expect(count('removed: orders')).toBe(1)
  })

  test('the notice of a turn that the session stored in part is sent again', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const agent = chat.agent(createAgent())
    const session = new MemorySession()
    world.prepare(() => addSkill('maps'))
    world.server.play(EDIT, FAIL)
    const result = await run(agent, 'The first question.', chat.options({ session, stream: true }))
    await expect(result.completed).rejects.toThrow('400')
    await run(agent, 'The second question.', chat.options({ session }))
    expect(await texts(session)).toEqual(['The first question.', 'The second question.'])
    expect(count('added: maps')).toBe(1)
  })

  test('the own filter may rewrite the message of the user, and the session stores the rewritten message', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const agent = chat.agent(createAgent())
    const session = new MemorySession()
    const callModelInputFilter = ({ modelData }: CallModelInputFilterArgs) => ({
      ...modelData,
      input: modelData.input.map(item =>
        'role' in item && item.role === 'user' && typeof item.content === 'string'
          ? { ...item, content: item.content.replace('1234', '****') }
          : item,
      ),
    })
    world.prepare(() => addSkill('maps'))
    world.server.play(EDIT, DONE, DONE)
    await run(agent, 'My card is 1234.', chat.options({ session, callModelInputFilter }))
    await run(agent, 'Also 1234.', chat.options({ session, callModelInputFilter }))
    expect(await texts(session)).toEqual(['My card is ****.', 'Also ****.'])
    expect(count('added: maps')).toBe(1)
  })

  test('a session that stores a blocked answer stores no notices', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const finish = tool({
      ...{ name: 'finish', description: 'Ends.', parameters: z.object({}) },
      execute: () => 'forbidden',
    })
    const blocked = { tripwireTriggered: true, outputInfo: {} }
    const base = new Agent({
      ...{ name: 'Helper', instructions: 'You help.', model: chatModel(world) },
      tools: [editTool(world), finish],
      toolUseBehavior: { stopAtToolNames: ['finish'] },
      outputGuardrails: [{ name: 'block', execute: async () => await Promise.resolve(blocked) }],
    })
    const session = new MemorySession()
    const transaction = vi.spyOn(session, 'applyHistoryTransaction')
    world.prepare(() => addSkill('maps'))
    world.server.play(EDIT, { kind: 'call', name: 'finish', input: {} })
    await expect(run(chat.agent(base), 'Go.', chat.options({ session }))).rejects.toThrow('guardrail')
    expect(transaction).toHaveBeenCalledOnce()
    expect(await texts(session)).toEqual(['Go.'])
  })

  test('the loaded skill comes back after the compaction of the SDK, and nothing is sent twice', async () => {
    const compacted = [
      {
        id: 'msg_0',
        type: 'message',
        role: 'user',
        content: [{ type: 'input_text', text: 'The first question.' }],
      },
      { id: 'cmp_1', type: 'compaction', encrypted_content: 'c2VjcmV0' },
    ]
    const client = new OpenAI({
      apiKey: 'none',
      fetch: async () =>
        await Promise.resolve(
          Response.json({ id: 'r', object: 'response.compaction', output: compacted, usage: {} }),
        ),
    })
    const shouldTriggerCompaction = vi.fn(() => false).mockReturnValueOnce(true)
    const session = new OpenAIResponsesCompactionSession({
      ...{ client, model: 'gpt-6-mini', compactionMode: 'input', shouldTriggerCompaction },
    })
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const agent = chat.agent(createAgent('Helper', [editTool(world)], responsesModel(world)))
    const say = async (text: string): Promise<void> =>
      void (await run(agent, text, chat.options({ session })))
    world.prepare(() => addSkill('maps'))
    world.server.play(LOAD, EDIT, DONE)
    await say('The first question.')
    expect(JSON.stringify(await session.getItems())).toContain('c2VjcmV0')
    editRefund()
    world.server.requests.splice(0)
    world.server.play(EDIT, DONE)
    await say('The second question.')
    expect(count('Refunds need form TWO.')).toBe(1)
    expect(lastText()).not.toMatch(/form ONE|added: maps/)
    expect(world.server.requests[0]?.parts[1]).toContain('maps')
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
  })

  test('compact() works with a session', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const agent = chat.agent(createAgent())
    const session = new MemorySession()
    world.server.play(LOAD, DONE)
    await run(agent, 'The first question.', chat.options({ session }))
    editRefund()
    const items = await chat.compact('A summary.')
    await session.clearSession()
    await session.addItems(items)
    for (const text of ['The second question.', 'The third question.'])
      await run(agent, text, chat.options({ session }))
    expect(lastText()).toMatch(/A summary[\s\S]*form TWO[\s\S]*second question[\s\S]*third question/)
    expect(count('form TWO')).toBe(1)
    expect(await texts(session)).toEqual(['A summary.', 'The second question.', 'The third question.'])
  })
})

describe('histories of the provider', () => {
  test('previousResponseId: a request contains only new items, and a failed run is sent again', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const agent = chat.agent(createAgent('Helper', [editTool(world)], responsesModel(world)))
    const { lastResponseId = '' } = await run(agent, 'One.', chat.options())
    world.prepare(() => addSkill('maps'))
    world.server.play(EDIT, DONE)
    const settings = { previousResponseId: lastResponseId }
    const two = await run(agent, 'Two.', chat.options(settings))
    expect(world.server.requests[2]?.parts.slice(2).join()).toMatch(/Edited[\s\S]*added: maps/)
    expect(lastText()).not.toMatch(/One\.|Two\./)
    world.folder.remove('orders')
    const next = { previousResponseId: two.lastResponseId ?? '' }
    world.server.play(FAIL)
    await expect(run(agent, 'Three.', chat.options(next))).rejects.toThrow('400')
    await run(agent, '/refund 3', chat.options(next))
    expect(lastText()).not.toContain('added: maps')
    expect(count('removed: orders')).toBe(1)
    expect(lastText()).toMatch(/3[\s\S]*form ONE/)
  })
})

describe('approvals', () => {
  const createDelicate = (): Tool =>
    tool({
      ...{ name: 'delicate', description: 'Edits.', parameters: z.object({}), needsApproval: true },
      execute: world.edit.run,
    })
  const CALL: Reply = { kind: 'call', name: 'delicate', input: {} }

  test('a run continues after an approval in a new process, with the same bytes', async () => {
    let stored: { run: string; state: OpenaiAgentsState }
    world.prepare(() => addSkill('maps'))
    world.server.play(LOAD, EDIT, CALL)
    {
      const own = await world.createSkills()
      using chat = openaiAgents(own, { id: 'chat-1' })
      const agent = chat.agent(createAgent('Helper', [editTool(world), createDelicate()]))
      const result = await run(agent, 'Go.', chat.options())
      expect(result.interruptions).toHaveLength(1)
      stored = { run: result.state.toString(), state: chat.state() }
    }
    using chat = openaiAgents(skills, { id: 'chat-1', resume: stored.state })
    const agent = chat.agent(createAgent('Helper', [editTool(world), createDelicate()]))
    const state = await RunState.fromString(agent, stored.run)
    for (const item of state.getInterruptions()) state.approve(item)
    world.prepare(() => world.folder.remove('orders'))
    world.server.play(DONE, DONE)
    const { history } = await run(agent, state, chat.options())
    await run(agent, [...history, user('And then?')], chat.options())
    expect(lastText()).toMatch(/added: maps[\s\S]*Edited[\s\S]*removed: orders[\s\S]*And then/)
    expect([count('added: maps'), count('removed: orders'), count('form ONE')]).toEqual([1, 1, 1])
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
  })

  test('a run with a session continues after an approval', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const agent = chat.agent(createAgent('Helper', [editTool(world), createDelicate()]))
    const session = new MemorySession()
    world.prepare(() => addSkill('maps'))
    world.server.play(EDIT, CALL)
    const { state } = await run(agent, 'Go.', chat.options({ session }))
    for (const item of state.getInterruptions()) state.approve(item)
    world.server.play(DONE, DONE)
    await run(agent, state, chat.options({ session }))
    await run(agent, 'And then?', chat.options({ session }))
    expect(JSON.stringify(await session.getItems())).not.toContain('added: maps')
    expect(count('added: maps')).toBe(1)
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
  })

  test('input of the user that joins a waiting run starts a turn', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const agent = chat.agent(createAgent('Helper', [createDelicate()]))
    world.server.play(CALL)
    const { state } = await run(agent, 'Go.', chat.options())
    for (const item of state.getInterruptions()) state.approve(item)
    state.addInput('/refund 7')
    world.server.play(DONE)
    const { history } = await run(agent, state, chat.options())
    expect(lastText()).toMatch(/Edited[\s\S]*7[\s\S]*form ONE/)
    await run(agent, [...history, user('And then?')], chat.options())
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
  })

  test('an approval inside an agent tool works while allowed-tools are enforced', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1', allowedTools: 'enforce' })
    using child = chat.child({ id: 'chat-1/helper' })
    const build = (): Agent => {
      const helper = child.agent(createAgent('Worker', [createDelicate()]))
      const ask = helper.asTool({
        toolName: 'ask_worker',
        toolDescription: 'Asks.',
        runOptions: child.options(),
      })
      return chat.agent(createAgent('Helper', [ask]))
    }
    world.server.play({ kind: 'call', name: 'ask_worker', input: { input: 'Work.' } }, CALL)
    const first = await run(build(), 'Go.', chat.options())
    expect(first.interruptions).toHaveLength(1)
    const agent = build()
    const state = await RunState.fromString(agent, first.state.toString())
    for (const item of state.getInterruptions()) state.approve(item)
    world.prepare(() => addSkill('maps'))
    world.server.play(DONE, DONE)
    const { finalOutput } = await run(agent, state, chat.options())
    expect(finalOutput).toBe('Done.')
    expect(requestsOf('Worker').at(-1)?.text).toContain('added: maps')
  })
})

describe('subagents', () => {
  const HAND_OFF: Reply = { kind: 'call', name: 'transfer_to_Clerk', input: {} }

  test('an agent that takes over sees only its own skills and its own notices', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    using child = chat.child({ id: 'chat-1/clerk', scope: { exclude: ['secret*'] } })
    const clerk = child.agent(createAgent('Clerk'))
    const desk = chat.agent(
      Agent.create({
        ...{ name: 'Desk', instructions: 'You are Desk.', model: chatModel(world) },
        ...{ tools: [editTool(world)], handoffs: [clerk] },
      }),
    )
    world.prepare(() => {
      addSkill('maps')
      addSkill('secret-two')
    })
    world.server.play(EDIT, HAND_OFF, EDIT, DONE, HAND_OFF, DONE)
    const { history, lastAgent } = await run(desk, 'One.', chat.options())
    expect(lastAgent).toBe(clerk)
    await run(desk, [...history, user('Two.')], chat.options())
    expect(requestsOf('Desk')).toHaveLength(3)
    expect(requestsOf('Desk').at(-1)?.text).toContain('secret-two')
    expect(requestsOf('Clerk')).toHaveLength(3)
    for (const { text } of requestsOf('Clerk')) {
      expect(text).toContain('added: maps')
      expect(text).not.toContain('secret')
    }
    for (const name of ['Desk', 'Clerk']) expect(countBrokenPrefixes(requestsOf(name))).toBe(0)
  })

  test('an agent that is a tool sees only its own skills, and each call starts without the earlier calls', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    using child = chat.child({ id: 'chat-1/clerk', scope: { exclude: ['secret*'] } })
    const clerk = child.agent(createAgent('Clerk'))
    const ask = clerk.asTool({ toolName: 'ask_clerk', toolDescription: 'Asks.', runOptions: child.options() })
    const desk = chat.agent(createAgent('Desk', [ask]))
    world.prepare(() => addSkill('maps'))
    const ASK = (input: string): Reply => ({ kind: 'call', name: 'ask_clerk', input: { input } })
    world.server.play(ASK('Work.'), LOAD, EDIT, DONE, ASK('Work more.'), EDIT, DONE, DONE)
    await run(desk, 'Go.', chat.options())
    const clerkRequests = requestsOf('Clerk')
    expect(clerkRequests).toHaveLength(5)
    expect(clerkRequests[2]?.text.split('added: maps')).toHaveLength(2)
    expect(clerkRequests[3]?.text).toMatch(/Work more\.[\s\S]*added: maps/)
    expect(clerkRequests[3]?.text).not.toContain('form ONE')
    expect(clerkRequests.map(({ text }) => text).join()).not.toContain('secret')
    expect(countBrokenPrefixes(clerkRequests.slice(0, 3))).toBe(0)
    expect(countBrokenPrefixes(clerkRequests.slice(3))).toBe(0)
    expect(requestsOf('Desk').map(({ text }) => text.includes('added: maps'))).toEqual([false, true, true])
  })

  test('a child continues in a new process', async () => {
    let history: AgentInputItem[]
    let states: { chat: OpenaiAgentsState; child: OpenaiAgentsState }
    world.prepare(() => addSkill('maps'))
    world.server.play(EDIT, DONE)
    {
      await using own = await world.createSkills()
      using chat = openaiAgents(own, { id: 'chat-1' })
      const child = chat.child({ id: 'chat-1/clerk', scope: { exclude: ['secret'] } })
      history = (await run(child.agent(createAgent('Clerk')), 'One.', child.options())).history
      states = JSON.parse(JSON.stringify({ chat: chat.state(), child: child.state() })) as typeof states
    }
    using chat = openaiAgents(skills, { id: 'chat-1', resume: states.chat })
    const child = chat.child({ id: 'chat-1/clerk', scope: { exclude: ['secret'] }, resume: states.child })
    await run(child.agent(createAgent('Clerk')), [...history, user('Two.')], child.options())
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
    expect(count('added: maps')).toBe(1)
  })
})

describe("allowedTools: 'enforce'", () => {
  const LOAD_CAREFUL: Reply = { kind: 'call', name: 'skill', input: { name: 'careful' } }
  const REFUSAL = /the tool \\+"(edit|remote|ask_worker)\\+" may not be called in this way/

  let isRun = false
  beforeEach(() => {
    isRun = false
    world.prepare(() => {
      isRun = true
    })
    world.folder.write(
      'careful/SKILL.md',
      '---\nname: careful\ndescription: Reads.\nallowed-tools: Read\n---\nRead.\n',
    )
  })

  test('refuses a tool of the host until the next turn, and names the reason', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1', allowedTools: 'enforce' })
    const agent = chat.agent(createAgent())
    world.server.play(LOAD_CAREFUL, EDIT, DONE)
    const { history } = await run(agent, 'Go.', chat.options())
    expect(isRun).toBe(false)
    expect(lastText()).toMatch(REFUSAL)
    world.server.play(EDIT, DONE)
    await run(agent, [...history, user('Edit it.')], chat.options())
    expect(isRun).toBe(true)
  })

  test('a run that another process continues after an approval is still restricted', async () => {
    const ask = tool({
      ...{ name: 'ask', description: 'Asks.', parameters: z.object({}), needsApproval: true },
      execute: () => 'Yes.',
    })
    const build = (chat: OpenaiAgentsChat): Agent => chat.agent(createAgent('Helper', [editTool(world), ask]))
    const before = openaiAgents(skills, { id: 'chat-1', allowedTools: 'enforce' })
    world.folder.write(
      'careful/SKILL.md',
      '---\nname: careful\ndescription: Reads.\nallowed-tools: ask\n---\nRead.\n',
    )
    world.server.play(LOAD_CAREFUL, { kind: 'call', name: 'ask', input: {} })
    const first = await run(build(before), 'Go.', before.options())
    const resume = JSON.parse(JSON.stringify(before.state())) as OpenaiAgentsState
    before.close()
    using chat = openaiAgents(skills, { id: 'chat-1', allowedTools: 'enforce', resume })
    const agent = build(chat)
    const state = await RunState.fromString(agent, first.state.toString())
    for (const item of state.getInterruptions()) state.approve(item)
    world.server.play(EDIT, DONE)
    await run(agent, state, chat.options())
    expect(isRun).toBe(false)
    expect(lastText()).toMatch(REFUSAL)
  })

  test('refuses tools of an MCP server', async () => {
    const server: MCPServer = {
      ...{ name: 'mcp', cacheToolsList: false },
      connect: async () => await Promise.resolve(),
      close: async () => await Promise.resolve(),
      invalidateToolsCache: async () => await Promise.resolve(),
      listTools: async () =>
        await Promise.resolve([
          {
            ...{ name: 'remote', description: 'Edits.' },
            inputSchema: { type: 'object', properties: {}, required: [], additionalProperties: false },
          },
        ]),
      callTool: async () => {
        isRun = true
        return await Promise.resolve([{ type: 'text', text: 'Edited.' }])
      },
    }
    using chat = openaiAgents(skills, { id: 'chat-1', allowedTools: 'enforce' })
    const base = new Agent({
      name: 'Helper',
      instructions: 'You help.',
      model: chatModel(world),
      mcpServers: [server],
    })
    const agent = chat.agent(base)
    const call: Reply = { kind: 'call', name: 'remote', input: {} }
    world.server.play(LOAD_CAREFUL, call, DONE)
    await run(agent, 'Go.', chat.options())
    expect(isRun).toBe(false)
    expect(lastText()).toMatch(REFUSAL)
    world.server.play(call, DONE)
    await run(agent, 'Go again.', chat.options())
    expect(isRun).toBe(true)
  })

  test('refuses agent tools, and restricts the subagents of the conversation', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1', allowedTools: 'enforce' })
    using child = chat.child({ id: 'chat-1/worker' })
    const worker = child.agent(createAgent('Worker'))
    const ask = worker.asTool({
      toolName: 'ask_worker',
      toolDescription: 'Asks.',
      runOptions: child.options(),
    })
    const agent = chat.agent(createAgent('Helper', [ask]))
    world.server.play(LOAD_CAREFUL, { kind: 'call', name: 'ask_worker', input: { input: 'Work.' } }, DONE)
    await run(agent, 'Go.', chat.options())
    expect(lastText()).toMatch(REFUSAL)
    expect(requestsOf('Worker')).toEqual([])
    world.server.play(EDIT, DONE)
    await run(worker, 'Work.', child.options())
    expect(isRun).toBe(false)
    expect(lastText()).toMatch(REFUSAL)
  })

  test('guards the tools of a SandboxAgent, which the SDK copies before it runs the agent', () => {
    using chat = openaiAgents(skills, { id: 'chat-1', allowedTools: 'enforce' })
    const shared = editTool(world)
    const agent = chat.agent(new SandboxAgent({ name: 'Helper', model: chatModel(world), tools: [shared] }))
    chat.agent(createAgent('Other', [shared]))
    expect(agent).toBeInstanceOf(SandboxAgent)
    expect(agent.tools[0]).toMatchObject({ name: 'edit', inputGuardrails: [{ name: 'skillstoke' }] })
  })

  test('leaves the same tool of another agent free', async () => {
    const shared = editTool(world)
    using chat = openaiAgents(skills, { id: 'chat-1', allowedTools: 'enforce' })
    chat.agent(createAgent('Helper', [shared]))
    world.server.play(EDIT, DONE)
    await run(createAgent('Other', [shared]), 'Go.')
    expect(isRun).toBe(true)
  })
})
