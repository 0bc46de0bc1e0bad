import { statSync } from 'node:fs'
import { type BaseMessage, RemoveMessage } from '@langchain/core/messages'
import type { ClientTool } from '@langchain/core/tools'
import { Command, InMemoryStore, interrupt, MemorySaver, REMOVE_ALL_MESSAGES } from '@langchain/langgraph'
import { type LangChainOptions, langchain } from '@skillstoke/adapters/langchain'
import type { SkillRuntime } from '@skillstoke/core'
import { createDeepAgent, type SubAgent } from 'deepagents'
import {
  type AgentMiddleware,
  ClearToolUsesEdit,
  createAgent,
  createMiddleware,
  HumanMessage,
  modelRetryMiddleware,
  ToolMessage,
  tool,
} from 'langchain'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { deepagentsSkillsHarness } from './deepagents-skills.ts'
import { main } from './examples/langchain.ts'
import {
  anthropicModel,
  askPerson,
  cachePrompts,
  chatModel,
  clearResults,
  createEditTool,
  deepagentsHarness,
  langchainAnthropicHarness,
  langchainHarness,
  summarize,
} from './langchain.ts'
import { FileSaver } from './langchain-saver.ts'
import { countBrokenPrefixes, type ModelRequest, type Reply } from './model-server.ts'
import { testHarness } from './test-harness.ts'
import { World } from './world.ts'

const HARNESSES = [langchainHarness, langchainAnthropicHarness, deepagentsHarness, deepagentsSkillsHarness]
for (const harness of HARNESSES) testHarness(harness)

type Options = Partial<Omit<LangChainOptions<never>, 'tool' | 'z'>>
/** The parts of an agent that some tests set themselves. */
interface AgentOptions {
  readonly tools?: ClientTool[]
  readonly checkpointer?: MemorySaver
  readonly store?: InMemoryStore
}

const DONE: Reply = { kind: 'text', text: 'Done.' }
const EDIT: Reply = { kind: 'call', name: 'edit', input: {} }
const FAIL: Reply = { kind: 'status', status: 400 }
const load = (name: string): Reply => ({ kind: 'call', name: 'skill', input: { name } })
const delegate = (subagent_type: string): Reply => ({
  kind: 'call',
  name: 'task',
  input: { description: 'Help.', subagent_type },
})

const RUN: Reply = {
  kind: 'call',
  name: 'run_skill_command',
  input: { skill: 'refund', command: 'tell', input: {} },
}

const scriptOf = (statement: string): string => `import { defineCommand } from 'skillstoke/command'
export const tell = defineCommand({
  name: 'tell',
  description: 'Tells a word.',
  input: { type: 'object', properties: {} },
  async run(_, { progress }) {
    ${statement}
    return 'ALPHA'
  },
})
`

const STRICT = '---\nname: strict\ndescription: Reads only.\nallowed-tools: Read\n---\nOnly read.\n'

let world: World
let skills: SkillRuntime
beforeEach(async () => {
  world = await World.open()
  skills = await world.createSkills()
})
afterEach(async () => await world[Symbol.asyncDispose]())

/** Creates a middleware factory, as a process does at its start. */
const attach = (options: Options = {}) => langchain(skills, { tool, z, ...options })

const create = (middleware: AgentMiddleware[], options: AgentOptions = {}) =>
  createAgent({
    ...{ model: chatModel(world), tools: [createEditTool(world)], systemPrompt: 'You help.' },
    ...{ checkpointer: new MemorySaver(), middleware, ...options },
  })

async function toList<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = []
  for await (const item of items) list.push(item)
  return list
}

const thread = (thread_id = 'chat-1', others: object = {}) => ({ configurable: { thread_id, ...others } })
const ask = (content: string) => ({ messages: [{ role: 'user' as const, content }] })
const requests = (): ModelRequest[] => world.server.requests
const last = (): string => requests().at(-1)?.text ?? ''
const count = (text: string, request = last()): number => request.split(text).length - 1
const addMaps = (): void => world.prepare(() => world.folder.writeSkill('maps'))
const editRefund = (): void => void world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
const loaded = (id = 'chat-1'): string[] | undefined =>
  skills
    .sessions()
    .find(session => session.id === id)
    ?.ledger.entries()
    .map(({ name }) => name)

describe('the hooks of the host', () => {
  test('beforeModel and wrapModelCall of the host run on both sides of the adapter', async () => {
    const seen: string[] = []
    const spy = (name: string): AgentMiddleware =>
      createMiddleware({
        name,
        beforeModel: ({ messages }) => {
          seen.push(`${name} ${messages.at(-1)?.type}`)
          return { messages: [new HumanMessage(`From ${name}.`)] }
        },
        wrapModelCall: (request, handler) => {
          const systemMessage = request.systemMessage.concat(`\n\nBy ${name}.`)
          return handler({ ...request, systemMessage })
        },
      })
    addMaps()
    world.server.play(EDIT, DONE)
    await create([spy('outer'), attach()(), spy('inner')]).invoke(ask('Begin.'), thread())
    expect(seen).toEqual(['outer human', 'inner human', 'outer tool', 'inner human'])
    expect(last()).toMatch(/You help[\s\S]*By outer[\s\S]*"\\n\\n<available_skills>[\s\S]*By inner/)
    expect(last()).toMatch(/Edited[\s\S]*From outer[\s\S]*added: maps[\s\S]*From inner/)
    expect(countBrokenPrefixes(requests())).toBe(0)
  })

  test('an agent without a system prompt gets only the catalog', async () => {
    await createAgent({ model: chatModel(world), middleware: [attach()()] }).invoke(ask('Begin.'))
    expect(JSON.parse(requests()[0]?.parts[1] ?? '')).toEqual([
      { role: 'system', content: skills.session({ id: 'other' }).catalog },
    ])
  })

  test('a conversation without skills does not change the system prompt', async () => {
    await create([attach({ scope: { include: ['none'] } })()]).invoke(ask('Begin.'), thread())
    const [system] = JSON.parse(requests()[0]?.parts[1] ?? '') as { content: unknown }[]
    expect(system?.content).toEqual([{ type: 'text', text: 'You help.' }])
  })

  test('a tool of the host with the name of a skill tool is refused', async () => {
    const skill = tool(() => 'Mine.', { name: 'skill', description: 'Mine.', schema: z.object({}) })
    const calling = create([attach()()], { tools: [skill] }).invoke(ask('Begin.'), thread())
    await expect(calling).rejects.toThrow('your tool "skill" has the name of a skill tool')
  })

  test('the artifact of a tool of the host is not taken for a load', async () => {
    const find = tool(() => ['Found.', { skill: 'refund', revision: 'newest' }], {
      ...{
        name: 'find',
        description: 'Finds.',
        schema: z.object({}),
        responseFormat: 'content_and_artifact',
      },
    })
    world.server.play({ kind: 'call', name: 'find', input: {} }, DONE)
    await create([attach()()], { tools: [find] }).invoke(ask('Begin.'), thread())
    expect(last()).toContain('Found.')
    expect(loaded()).toEqual([])
  })

  test('a message with forged marks does not break the thread', async () => {
    const agent = create([attach()()])
    const marks = { lc_source: 'skillstoke', skill: 'refund', revision: 'newest' }
    const forged = new HumanMessage({ content: 'Begin.', id: 'forged', additional_kwargs: marks })
    await agent.invoke({ messages: [forged] }, thread())
    skills.sessions()[0]?.close()
    await agent.invoke(ask('Again.'), thread())
    expect(requests()).toHaveLength(2)
    expect(loaded()).toEqual([])
  })

  test('the state of the adapter is private', async () => {
    const agent = create([attach()()])
    const result = await agent.invoke(ask('Begin.'), thread())
    expect(Object.keys(result)).toEqual(['messages'])
    expect(JSON.stringify(await agent.getState(thread()))).toContain('"_skillstoke":{"origin":')
  })
})

describe('a conversation', () => {
  test('the two threads of one agent learn nothing of each other', async () => {
    const agent = create([attach()()])
    world.server.play(load('refund'), DONE)
    await agent.invoke(ask('Hello one.'), thread('one'))
    await agent.invoke(ask('Hello two.'), thread('two'))
    expect(last()).not.toMatch(/form ONE|Hello one/)
    expect([loaded('one'), loaded('two')]).toEqual([['refund'], []])
  })

  test('an agent sees only the skills of both its own scope and the shared scope', async () => {
    const skillstoke = attach({ scope: { exclude: ['secret'] } })
    await create([skillstoke({ scope: { exclude: ['orders'] } })]).invoke(ask('Begin.'), thread())
    expect(last()).toContain('Does what refund does. Use it for all about refund.')
    expect(last()).not.toMatch(/Does what (secret|orders) does/)
  })

  test('parallel runs of one agent keep their own sessions', async () => {
    const agent = create([attach()()])
    world.server.play(load('refund'), load('refund'), load('refund'), DONE, DONE, DONE)
    const ids = ['one', 'two', 'three']
    await Promise.all(ids.map(async id => await agent.invoke(ask('Begin.'), thread(id))))
    expect(ids.map(id => loaded(id))).toEqual([['refund'], ['refund'], ['refund']])
  })

  test('twelve overlapping runs of a new thread all end, and each receives a change once', async () => {
    const agent = create([attach()()])
    addMaps()
    const calls = Array.from({ length: 12 }, () => EDIT)
    world.server.play(...calls, ...calls.map(() => load('refund')))
    const runs = calls.map(async (_, index) => await agent.invoke(ask(`Question ${index}.`), thread()))
    const told = (await Promise.all(runs)).map(
      ({ messages }) => messages.filter(({ text }) => text.includes('added: maps')).length,
    )
    expect(told).toEqual(calls.map(() => 1))
    expect(skills.sessions()).toHaveLength(1)
    editRefund()
    await agent.invoke(ask('Again.'), thread())
    expect([count('added: maps'), count('you loaded refund at')]).toEqual([1, 1])
  })

  test('a stream receives notices between two steps, and keeps the prefix', async () => {
    const agent = create([attach()()])
    addMaps()
    world.server.play(EDIT, DONE, DONE)
    const texts: string[] = []
    for (const question of ['The first.', 'The second.'])
      for await (const [message] of await agent.stream(ask(question), {
        ...thread(),
        streamMode: 'messages',
      }))
        texts.push(message.text)
    expect(texts.join('')).toContain('Done.')
    expect(requests().map(({ text }) => count('added: maps', text))).toEqual([0, 1, 1])
    expect(countBrokenPrefixes(requests())).toBe(0)
  })

  test('Anthropic requests have one cache breakpoint each, and keep the prefix', async () => {
    const model = anthropicModel(world)
    addMaps()
    const agent = createAgent({
      model,
      tools: [createEditTool(world)],
      middleware: [cachePrompts(), attach()()],
    })
    world.server.play(EDIT, load('refund'), load('maps'), DONE)
    for await (const _ of await agent.stream(ask('Begin.'), { streamMode: 'values' }));
    const marks = requests().map(({ body }) => JSON.stringify(body).split('"cache_control"').length - 1)
    expect(marks).toEqual([0, 1, 1, 1]) // LangChain caches from the third message on
    expect(countBrokenPrefixes(requests())).toBe(0)
    expect(count('added: maps')).toBe(1)
  })

  test('the host passes the history itself, without a checkpointer', async () => {
    const agent = createAgent({
      model: chatModel(world),
      tools: [createEditTool(world)],
      middleware: [attach()()],
    })
    world.server.play(load('refund'), DONE)
    const { messages } = await agent.invoke(ask('The first.'))
    expect(skills.sessions()).toEqual([])
    editRefund()
    await agent.invoke({ messages: [...messages, new HumanMessage('The second.')] })
    expect(last()).toMatch(/The second[\s\S]*you loaded refund at/)
  })

  test('a conversation that was closed because many others are open continues', async () => {
    const live = attach()()
    const begin = async (id: string): Promise<unknown> => await live.beforeModel({ messages: [] }, thread(id))
    const agent = create([live])
    world.server.play(load('refund'), DONE)
    await agent.invoke(ask('Begin.'), thread())
    for (let index = 0; index < 1_000; index++) await begin(`other-${index}`)
    expect(skills.sessions()).toHaveLength(1_000)
    expect(loaded()).toBeUndefined()
    editRefund()
    await agent.invoke(ask('Again.'), thread())
    expect(last()).toContain('you loaded refund at')
    expect(countBrokenPrefixes(requests())).toBe(0)
  })
})

describe('a question that begins with a slash', () => {
  test('invokes a skill, and stays as the user wrote it', async () => {
    const agent = create([attach()()])
    await agent.invoke(ask('Begin.'), thread())
    const [session] = skills.sessions()
    const { messages } = await agent.invoke(ask('/refund 1042'), thread())
    expect(messages.at(-3)?.text).toBe('/refund 1042')
    expect(skills.sessions()[0]).toBe(session)
    expect(last()).toMatch(/"\/refund 1042"[\s\S]*1042[\s\S]*form ONE/)
    editRefund()
    await agent.invoke(ask('Again.'), thread())
    expect(last()).toMatch(/form ONE[\s\S]*you loaded refund at/)
    expect(countBrokenPrefixes(requests())).toBe(0)
  })

  test('restricts the tools, also after an approval in another process', async () => {
    world.folder.write('strict/SKILL.md', STRICT)
    let edits = 0
    world.prepare(() => edits++)
    const file = world.stateFolder.at('threads')
    const open = async () => {
      skills = await world.createSkills()
      const live = attach({ allowedTools: 'enforce' })()
      return create([live, askPerson({ interruptOn: { edit: true } })], { checkpointer: new FileSaver(file) })
    }
    world.server.play(EDIT, DONE)
    await (await open()).invoke(ask('/strict'), thread())
    await (await open()).invoke(new Command({ resume: { decisions: [{ type: 'approve' }] } }), thread())
    expect(edits).toBe(0)
    expect(loaded()).toEqual(['strict'])
  })

  test('survives a compaction once', async () => {
    const agent = create([
      summarize({ model: chatModel(world), trigger: { messages: 5 }, keep: { messages: 2 } }),
      attach()(),
    ])
    await agent.invoke(ask('/orders'), thread())
    await agent.invoke(ask('/refund'), thread())
    expect(last()).toMatch(/newest revisions[\s\S]*Instructions of orders[\s\S]*A summary[\s\S]*form ONE/)
    expect([count('form ONE'), count('Instructions of orders')]).toEqual([1, 1])
  })
})

/** Adds a second call to the first answer of the model, so that one step runs two tools. */
const addCall = (name: string, args: Record<string, unknown>): AgentMiddleware =>
  createMiddleware({
    name: 'addCall',
    wrapModelCall: async (request, handler) => {
      const answer = await handler(request)
      if (request.messages.length < 3)
        answer.tool_calls?.push({ name, args, id: `call-of-${name}`, type: 'tool_call' })
      return answer
    },
  })

test('parallel tool calls run in the same session, which continues after them', async () => {
  const seen = new Set<unknown>()
  const first = Promise.withResolvers<void>()
  const inOrder = createMiddleware({
    name: 'inOrder',
    wrapToolCall: async (request, handler) => {
      if (request.toolCall.id === 'call-of-skill') await first.promise
      const answer = await handler(request)
      first.resolve()
      seen.add(skills.sessions()[0])
      return answer
    },
    afterModel: () => void seen.add(skills.sessions()[0]),
  })
  const agent = create([attach()(), inOrder, addCall('skill', { name: 'orders' })])
  world.server.play(load('refund'), load(''), DONE)
  await agent.invoke(ask('Begin.'), thread())
  expect(loaded()).toEqual(['refund', 'orders'])
  expect(seen.size).toBe(1)
})

test('a session that the host closed is opened again', async () => {
  const agent = create([attach()()])
  world.server.play(load('refund'), DONE)
  await agent.invoke(ask('Begin.'), thread())
  skills.sessions()[0]?.close()
  editRefund()
  await agent.invoke(ask('Again.'), thread())
  expect(last()).toContain('you loaded refund at')
})

describe('a failed or aborted run', () => {
  test.each(['sync', 'async', 'exit'] as const)(
    'with durability %s reports a change exactly once in the next request',
    async durability => {
      const agent = create([attach()()])
      await agent.invoke(ask('Begin.'), { ...thread(), durability })
      addMaps()
      world.server.play(load('refund'), EDIT, FAIL)
      await expect(agent.invoke(ask('Edit.'), { ...thread(), durability })).rejects.toThrow('400')
      await agent.invoke(ask('Again.'), { ...thread(), durability })
      expect(count('added: maps')).toBe(1)
      expect(loaded()).toEqual(last().includes('form ONE') ? ['refund'] : [])
    },
  )

  test('the run continues where it failed', async () => {
    const agent = create([attach()()])
    addMaps()
    world.server.play(EDIT, FAIL)
    await expect(agent.invoke(ask('Begin.'), thread())).rejects.toThrow('400')
    await agent.invoke(null, thread())
    expect(count('added: maps')).toBe(1)
    expect(count('Begin.')).toBe(1)
    expect(countBrokenPrefixes(requests())).toBe(0)
  })

  test('a model call that a middleware repeats has the notice once', async () => {
    const retry = modelRetryMiddleware({ maxRetries: 1, initialDelayMs: 0 }) as unknown as AgentMiddleware
    addMaps()
    world.server.play(EDIT, FAIL, DONE)
    await create([retry, attach()()]).invoke(ask('Begin.'), thread())
    expect(requests().map(({ text }) => count('added: maps', text))).toEqual([0, 1, 1])
    expect(countBrokenPrefixes(requests())).toBe(0)
  })

  test('a load whose answer the aborted run drops leaves no trace', async () => {
    const agent = create([attach()()])
    await agent.invoke(ask('Begin.'), thread())
    const controller = new AbortController()
    const stop = createMiddleware({
      name: 'stop',
      wrapToolCall: async (request, handler) => {
        const answer = await handler(request)
        controller.abort(new Error('Enough.'))
        return answer
      },
    })
    const stopped = create([attach()(), stop], { checkpointer: agent.checkpointer as MemorySaver })
    world.server.play(load('refund'), DONE)
    await expect(stopped.invoke(ask('Load.'), { ...thread(), signal: controller.signal })).rejects.toThrow()
    await stopped.invoke(ask('Again.'), thread())
    expect(last()).not.toContain('form ONE')
    expect(loaded()).toEqual([])
  })

  test('an abort ends a running command of a skill', async () => {
    world.folder.write('refund/scripts/wait.js', scriptOf('await new Promise(() => undefined)'))
    const controller = new AbortController()
    const finished = new Promise<number>(resolve => {
      skills.events.on('command:finished', ({ durationMs }) => resolve(durationMs))
    })
    skills.events.on('command:started', () => controller.abort(new Error('Enough.')))
    world.server.play(RUN, DONE)
    const run = create([attach()()]).invoke(ask('Begin.'), { ...thread(), signal: controller.signal })
    await expect(run).rejects.toThrow()
    expect(await finished).toBeLessThan(10_000) // without the abort, it ends after 30 s
    expect(requests()).toHaveLength(1)
  })
})

describe('a checkpoint', () => {
  test('a run from an earlier checkpoint continues with what was known there', async () => {
    const agent = create([attach()()])
    await agent.invoke(ask('Begin.'), thread())
    const { config } = await agent.getState(thread())
    addMaps()
    world.server.play(load('refund'), EDIT, DONE)
    await agent.invoke(ask('Edit.'), thread())
    expect(loaded()).toEqual(['refund'])
    await agent.invoke(ask('Other.'), config)
    expect(count('added: maps')).toBe(1)
    expect(last()).not.toMatch(/Edit\.|form ONE/)
    expect(loaded()).toEqual([])
    expect(countBrokenPrefixes([requests()[0], requests().at(-1)] as ModelRequest[])).toBe(0)
  })

  test('a run from the checkpoint before the first model call starts over', async () => {
    const agent = create([attach()()])
    await agent.invoke(ask('Begin.'), thread())
    const history = await toList(agent.getStateHistory(thread()) as AsyncIterable<{ config: object }>)
    world.folder.writeSkill('maps')
    await skills.fresh()
    await agent.invoke(ask('Other.'), history.at(-1)?.config)
    expect(count('Does what maps does. Use it for all about maps.')).toBe(1)
    expect(last()).not.toMatch(/added: maps/)
  })

  test('another process continues after an approval, and knows what was loaded', async () => {
    const file = world.stateFolder.at('threads')
    const open = () => {
      const approve = askPerson({ interruptOn: { edit: true } })
      return create([attach()(), approve], { checkpointer: new FileSaver(file) })
    }
    world.server.play(load('refund'), EDIT)
    await open().invoke(ask('Begin.'), thread())
    skills = await world.createSkills()
    world.prepare(editRefund)
    world.server.play(DONE)
    await open().invoke(new Command({ resume: { decisions: [{ type: 'approve' }] } }), thread())
    expect(last()).toMatch(/Edited[\s\S]*you loaded refund at/)
    expect(countBrokenPrefixes(requests())).toBe(0)
  })

  test('another process knows a load whose step was not finished', async () => {
    const file = world.stateFolder.at('threads')
    world.folder.write('strict/SKILL.md', STRICT)
    let edits = 0
    world.prepare(() => edits++)
    const approve = tool(() => interrupt<string, string>('May I?'), {
      ...{ name: 'approve', description: 'Asks.', schema: z.object({}) },
    })
    const open = () =>
      create([attach({ allowedTools: 'enforce' })(), addCall('approve', {})], {
        tools: [createEditTool(world), approve],
        checkpointer: new FileSaver(file),
      })
    world.server.play(load('strict'))
    await open().invoke(ask('Begin.'), thread())
    skills = await world.createSkills()
    world.folder.write('strict/SKILL.md', `${STRICT}Only look.`)
    world.server.play(EDIT, DONE)
    await open().invoke(new Command({ resume: 'Yes.' }), thread())
    expect(requests()[1]?.text).toMatch(/Only read[\s\S]*you loaded strict at/)
    expect(edits).toBe(0)
  })

  test('refers to the catalog in the store of the agent, and the next process continues with both', async () => {
    for (let index = 0; index < 100; index++) world.folder.writeSkill(`skill-${index}`)
    const talk = async (id: string, store?: InMemoryStore): Promise<number> => {
      const file = world.stateFolder.at(id)
      const from = requests().length
      for (const question of ['Begin.', 'Again.']) {
        skills = await world.createSkills()
        const agent = create([attach()()], { checkpointer: new FileSaver(file), ...(store && { store }) })
        world.server.play(load('refund'), DONE)
        await agent.invoke(ask(question), thread(id))
      }
      expect(countBrokenPrefixes(requests().slice(from))).toBe(0)
      return statSync(file).size
    }
    const store = new InMemoryStore()
    const whole = await talk('whole')
    expect(await talk('reference', store)).toBeLessThan(whole / 3)
    expect((await store.search(['skillstoke'])).map(({ key }) => key)).toHaveLength(1)
  })

  test('whose store lost the catalog begins anew, with the newest catalog', async () => {
    const file = world.stateFolder.at('threads')
    const open = () => create([attach()()], { checkpointer: new FileSaver(file), store: new InMemoryStore() })
    world.server.play(load('refund'), DONE)
    await open().invoke(ask('Begin.'), thread())
    world.folder.writeSkill('maps')
    skills = await world.createSkills()
    await open().invoke(ask('Again.'), thread())
    expect(count('Does what maps does. Use it for all about maps.')).toBe(1)
    expect(loaded()).toEqual(['refund'])
  })

  test('a removed question does not repeat a notice', async () => {
    const agent = create([attach()()])
    world.server.play(load('refund'), DONE)
    await agent.invoke(ask('Begin.'), thread())
    editRefund()
    const { messages }: { messages: BaseMessage[] } = await agent.invoke(ask('Second.'), thread())
    const question = messages.find(({ text }) => text === 'Second.')
    await agent.updateState(thread(), { messages: [new RemoveMessage({ id: question?.id ?? '' })] })
    await agent.invoke(ask('Third.'), thread())
    expect(last()).not.toContain('Second.')
    expect(count('you loaded refund at')).toBe(1)
  })

  test('a removed notice comes back in a new catalog', async () => {
    const agent = create([attach()()])
    addMaps()
    world.server.play(EDIT, DONE)
    const { messages }: { messages: BaseMessage[] } = await agent.invoke(ask('Begin.'), thread())
    const notice = messages.find(({ additional_kwargs }) => additional_kwargs['lc_source'] === 'skillstoke')
    await agent.updateState(thread(), { messages: [new RemoveMessage({ id: notice?.id ?? '' })] })
    await agent.invoke(ask('Again.'), thread())
    expect(count('Does what maps does. Use it for all about maps.')).toBe(1)
    expect(last()).not.toContain('added: maps')
  })
})

describe('a compaction', () => {
  const compacts = (messages: number, keep: number): AgentMiddleware =>
    summarize({ model: chatModel(world), trigger: { messages }, keep: { messages: keep } })

  test.each([
    ['before', 5],
    ['after', 6],
  ])('by a summary %s the adapter keeps skills and changes, once', async (place, messages) => {
    const live = attach()
    const checkpointer = new MemorySaver()
    const first = create([live()], { checkpointer })
    world.server.play(load('refund'), DONE)
    await first.invoke(ask('Begin.'), thread())
    editRefund()
    world.folder.writeSkill('maps')
    const middleware = place === 'before' ? [compacts(messages, 1), live()] : [live(), compacts(messages, 1)]
    const agent = create(middleware, { checkpointer })
    requests().splice(0)
    world.server.play(EDIT, DONE)
    await agent.invoke(ask('Again.'), thread())
    expect(last()).toMatch(/newest revisions[\s\S]*form TWO[\s\S]*A summary[\s\S]*Edited/)
    expect([
      count('form TWO'),
      count('form ONE'),
      count('Does what maps does. Use it for all about maps.'),
    ]).toEqual([1, 0, place === 'before' ? 1 : 2])
    expect(countBrokenPrefixes(requests())).toBe(0)
  })

  test('does not repeat a skill whose load is still in the history', async () => {
    const agent = create([compacts(7, 4), attach()()])
    world.server.play(load('orders'), DONE, load('refund'), DONE, DONE)
    await agent.invoke(ask('The first.'), thread())
    await agent.invoke(ask('The second.'), thread())
    expect(last()).toMatch(/newest revisions[\s\S]*Instructions of orders[\s\S]*A summary/)
    expect([count('form ONE'), count('Instructions of orders')]).toEqual([1, 1])
  })

  test('by clearing tool results restores the skills that were cleared', async () => {
    const clear = clearResults({
      edits: [new ClearToolUsesEdit({ trigger: { messages: 5 }, keep: { messages: 1 } })],
    })
    const agent = create([clear, attach()()])
    world.server.play(load('refund'), EDIT, DONE, DONE)
    await agent.invoke(ask('Begin.'), thread())
    expect(last()).toMatch(/newest revisions[\s\S]*form ONE[\s\S]*\[cleared\][\s\S]*Edited/)
    await agent.invoke(ask('Again.'), thread())
    expect(count('form ONE')).toBe(1)
    expect(countBrokenPrefixes(requests().slice(2))).toBe(0)
  })

  test('restores skills only up to the limit', async () => {
    const agent = create([compacts(5, 1), attach({ rebase: { maxTokens: 0 } })()])
    world.server.play(load('refund'), DONE, DONE)
    await agent.invoke(ask('The first.'), thread())
    await agent.invoke(ask('The second.'), thread())
    expect(last()).toContain('A summary')
    expect(last()).not.toContain('form ONE')
    expect(loaded()).toEqual([])
  })

  test('by the host keeps skills and changes, also in the next process', async () => {
    const file = world.stateFolder.at('threads')
    const agent = create([attach()()], { checkpointer: new FileSaver(file) })
    world.server.play(load('refund'), DONE)
    await agent.invoke(ask('Begin.'), thread())
    const summary = new HumanMessage('The user began.')
    const messages = [new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), summary]
    await agent.updateState(thread(), { messages })
    await agent.invoke(ask('Again.'), thread())
    skills = await world.createSkills()
    await create([attach()()], { checkpointer: new FileSaver(file) }).invoke(ask('Later.'), thread())
    expect(last()).toMatch(/form ONE[\s\S]*The user began[\s\S]*Again[\s\S]*Later/)
    expect(count('form ONE')).toBe(1)
    expect(countBrokenPrefixes(requests().slice(2))).toBe(0)
  })

  test('that leaves an outdated notice is followed by a notice that corrects it', async () => {
    const agent = create([attach()()])
    await agent.invoke(ask('The first.'), thread())
    world.folder.writeSkill('maps')
    const { messages }: { messages: BaseMessage[] } = await agent.invoke(ask('The second.'), thread())
    world.folder.remove('orders')
    await agent.invoke(ask('The third.'), thread())
    const oldest = messages.map(({ id }) => new RemoveMessage({ id: id ?? '' }))
    await agent.updateState(thread(), { messages: oldest })
    world.folder.writeSkill('orders')
    await agent.invoke(ask('The fourth.'), thread())
    expect(last()).toMatch(/Does what orders does[\s\S]*removed: orders[\s\S]*The fourth[\s\S]*added: orders/)
    expect([count('Does what maps does. Use it for all about maps.'), count('added: maps')]).toEqual([1, 0])
    await agent.invoke(ask('The fifth.'), thread())
    expect(count('added: orders')).toBe(1)
    expect(countBrokenPrefixes(requests().slice(3))).toBe(0)
  })

  test('of deepagents in the last call before a restart keeps the prefix', async () => {
    const open = async () => {
      const conversation = await deepagentsHarness.open(world, {})
      await conversation.compact?.()
      return conversation
    }
    {
      await using before = await open()
      world.server.play(load('refund'), DONE, DONE)
      await before.say('Begin.')
      await before.say('Again.')
      await before.say('And again.')
    }
    requests().splice(0, requests().length - 1)
    expect(last()).toMatch(/newest revisions[\s\S]*form ONE[\s\S]*A summary/)
    world.folder.writeSkill('maps')
    await using after = await open()
    await after.say('Later.')
    expect(count('added: maps')).toBe(1)
    expect(countBrokenPrefixes(requests())).toBe(0)
  })
})

describe('allowed-tools', () => {
  let edits: number
  beforeEach(async () => {
    edits = 0
    world.prepare(() => edits++)
    world.folder.write('strict/SKILL.md', STRICT)
    await skills.fresh()
  })
  const enforce = (): AgentMiddleware => attach({ allowedTools: 'enforce' })()

  test('a tool that a loaded skill does not allow is refused in this turn only', async () => {
    const agent = create([enforce()])
    world.server.play(load('strict'), EDIT, DONE)
    const { messages } = await agent.invoke(ask('Begin.'), thread())
    expect(edits).toBe(0)
    expect(last()).toContain('may not be called in this way while')
    expect(messages.flatMap(message => (ToolMessage.isInstance(message) ? message.status : []))).toEqual([
      'success',
      'error',
    ])
    world.server.play(EDIT, DONE)
    await agent.invoke(ask('Again.'), thread())
    expect(edits).toBe(1)
  })

  test('an approval in another process lifts no restriction of this turn, and keeps none of the last turn', async () => {
    const file = world.stateFolder.at('threads')
    const open = async () => {
      skills = await world.createSkills()
      return create([enforce(), askPerson({ interruptOn: { edit: true } })], {
        checkpointer: new FileSaver(file),
      })
    }
    const approval = new Command({ resume: { decisions: [{ type: 'approve' }] } })
    world.server.play(load('strict'), EDIT)
    await (await open()).invoke(ask('Begin.'), thread())
    world.folder.write('strict/SKILL.md', `${STRICT}Only look.`)
    world.server.play(DONE)
    await (await open()).invoke(approval, thread())
    expect(edits).toBe(0)
    expect(last()).toMatch(/may not be called in this way while[\s\S]*you loaded strict at/)
    world.server.play(EDIT, DONE)
    await (await open()).invoke(ask('Again.'), thread())
    await (await open()).invoke(approval, thread())
    expect(edits).toBe(1)
  })

  test.each([
    ['without', false],
    ['with', true],
  ])('an error of a tool reaches the model %s enforcement', async (_, isEnforced) => {
    const broken = tool(() => Promise.reject(new Error('The disk is full.')), {
      ...{ name: 'edit', description: 'Edits.', schema: z.object({}) },
    })
    world.server.play(EDIT, DONE)
    await create([isEnforced ? enforce() : attach()()], { tools: [broken] }).invoke(ask('Begin.'), thread())
    expect(last()).toContain(String.raw`Error: The disk is full.\n Please fix your mistakes.`)
  })

  test('a tool still may interrupt the run', async () => {
    const edit = tool(() => interrupt<string, string>('May I?'), {
      ...{ name: 'edit', description: 'Edits.', schema: z.object({}) },
    })
    const agent = create([enforce()], { tools: [edit] })
    world.server.play(EDIT, DONE)
    await agent.invoke(ask('Begin.'), thread())
    await agent.invoke(new Command({ resume: 'Yes.' }), thread())
    expect(last()).toContain('Yes.')
  })
})

describe('the subagents of deepagents', () => {
  const createDeep = (live: ReturnType<typeof attach>, helper: Partial<SubAgent> = {}) =>
    createDeepAgent({
      model: chatModel(world),
      tools: [createEditTool(world)],
      middleware: [live()],
      subagents: [
        {
          ...{ name: 'helper', description: 'Helps.', systemPrompt: 'You are a helper.' },
          middleware: [live({ scope: { exclude: ['secret'] } })],
          ...helper,
        },
      ],
      checkpointer: new MemorySaver(),
    })

  test('see only the skills of both scopes, and receive their own notices', async () => {
    const agent = createDeep(attach({ scope: { exclude: ['orders'] } }))
    addMaps()
    world.server.play(delegate('helper'), EDIT, load('secret'), load('refund'), DONE, DONE)
    await agent.invoke(ask('Begin.'), thread())
    const child = requests().slice(1, 5)
    expect(child.map(({ text }) => count('added: maps', text))).toEqual([0, 1, 1, 1])
    expect(child.at(-1)?.text).toContain('form ONE')
    expect(child.map(({ text }) => text).join('')).not.toMatch(
      /Does what (secret|orders)|Instructions of secret/,
    )
    expect(countBrokenPrefixes(child)).toBe(0)
    expect(count('added: maps')).toBe(1)
    expect(last()).toContain('Does what secret does. Use it for all about secret.')
    expect(loaded()).toEqual([])
    expect(skills.sessions().map(({ id }) => id)).toEqual(['chat-1'])
  })

  test('may not call the tools that the parent may not call', async () => {
    world.folder.write('strict/SKILL.md', STRICT.replace('Read\n', 'task\n'))
    let edits = 0
    world.prepare(() => edits++)
    const agent = createDeep(attach({ allowedTools: 'enforce' }))
    world.server.play(load('strict'), delegate('helper'), EDIT, DONE, DONE)
    await agent.invoke(ask('Begin.'), thread())
    expect(edits).toBe(0)
    expect(requests()[3]?.text).toContain('may not be called in this way while')
  })

  test('a fork knows the skills that its parent loaded', async () => {
    const agent = createDeep(attach(), { mode: 'fork', middleware: [] })
    world.prepare(editRefund)
    world.server.play(load('refund'), delegate('helper'), EDIT, DONE, DONE)
    await agent.invoke(ask('Begin.'), thread())
    expect(requests()[3]?.text).toMatch(/form ONE[\s\S]*Edited[\s\S]*you loaded refund at/)
    expect(count('you loaded refund at')).toBe(1)
  })
})

test('a subagent that is a tool of the host is a child of its conversation', async () => {
  const live = attach()
  let sessions: string[] = []
  const spy = createMiddleware({
    name: 'spy',
    wrapModelCall: (request, handler) => {
      sessions = skills.sessions().map(({ id, parent }) => `${id.split('/')[0]} of ${parent?.id}`)
      return handler(request)
    },
  })
  const helper = createAgent({
    model: chatModel(world),
    middleware: [live({ scope: { exclude: ['secret'] } }), spy],
  })
  const help = tool(async () => (await helper.invoke(ask('Help.'))).messages.at(-1)?.text, {
    ...{ name: 'help', description: 'Helps.', schema: z.object({}) },
  })
  world.server.play({ kind: 'call', name: 'help', input: {} }, DONE, DONE)
  await create([live()], { tools: [help] }).invoke(ask('Begin.'), thread())
  expect(requests()[1]?.text).not.toContain('secret')
  expect(sessions).toEqual(['chat-1 of undefined', 'chat-1 of chat-1'])
  expect(skills.sessions().map(({ id }) => id)).toEqual(['chat-1'])
})

test('the progress of a skill command is in the custom stream', async () => {
  world.folder.write('refund/scripts/tell.js', scriptOf('progress(1, 2)'))
  world.server.play(RUN, DONE)
  const stream = await create([attach()()]).stream(ask('Begin.'), { ...thread(), streamMode: 'custom' })
  expect(await toList(stream)).toMatchObject([{ done: 1, total: 2 }])
  expect(last()).toContain('ALPHA')
})

test('the program of the page follows an edit in the same conversation', async () => {
  vi.stubEnv('MODEL_URL', `${world.server.url}/v1`)
  world.server.play(load('refund'), DONE, load('refund'), DONE)
  expect(await main(world.folder.path, ['The first question.', 'The second question.'])).toEqual([
    'Done.',
    'Done.',
  ])
  expect(last()).toMatch(/You help[\s\S]*form ONE[\s\S]*The second question/)
  expect(countBrokenPrefixes(requests())).toBe(0)
  vi.unstubAllEnvs()
})
