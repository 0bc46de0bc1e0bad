import { createAnthropic } from '@ai-sdk/anthropic'
import { Agent } from '@mastra/core/agent'
import { Mastra } from '@mastra/core/mastra'
import type { Processor } from '@mastra/core/processors'
import { RequestContext } from '@mastra/core/request-context'
import { createTool } from '@mastra/core/tools'
import { mastra } from '@skillstoke/adapters/mastra'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { main } from './examples/mastra.ts'
import { MastraProcess, mastraHarness, mastraStreamHarness, say } from './mastra.ts'
import { mastraSkillsHarness } from './mastra-skills.ts'
import { countBrokenPrefixes, type ModelRequest, type Reply } from './model-server.ts'
import { testHarness } from './test-harness.ts'
import { World } from './world.ts'

const DONE: Reply = { kind: 'text', text: 'Done.' }
const EDIT: Reply = { kind: 'call', name: 'edit', input: {} }
const load = (name: string): Reply => ({ kind: 'call', name: 'skill', input: { name } })

testHarness(mastraHarness)
testHarness(mastraStreamHarness)
testHarness(mastraSkillsHarness)

let world: World
beforeEach(async () => {
  world = await World.open()
})
afterEach(async () => await world[Symbol.asyncDispose]())

const last = (): ModelRequest => world.server.requests.at(-1) ?? expect.unreachable('no request')
const addMaps = (): void => void world.folder.writeSkill('maps')
const restrict = (name: string, tools: string): void =>
  void world.folder.write(
    `${name}/SKILL.md`,
    `---\nname: ${name}\ndescription: Does it.\nallowed-tools: ${tools}\n---\nDo it.\n`,
  )

describe('mastra() merges with the agent', () => {
  test('processors, instructions and tools of the user stay, and the catalog follows the instructions', async () => {
    await using process = await MastraProcess.start(world)
    const steps: number[] = []
    const first = {
      id: 'first',
      processInputStep: ({ stepNumber }) => void steps.push(stepNumber),
    } satisfies Processor
    const second = {
      id: 'second',
      processInputStep: ({ messageList }) => void messageList.addSystem('Be brief.', 'style'),
      // This processor replaces the user's message, and drops its metadata.
      processInput: ({ messages }) =>
        messages.map(message => ({
          ...message,
          content: { format: 2, parts: [{ type: 'text', text: 'Begin politely.' }] },
        })),
    } satisfies Processor
    const agent = process.createAgent({
      instructions: () => Promise.resolve('You help kindly.'),
      inputProcessors: [first, process.live.processor, second],
    })
    world.prepare(addMaps)
    world.server.play(EDIT, DONE)
    await say(agent, 'chat-1', 'Begin.')
    expect(steps).toEqual([0, 1])
    const [system, catalog, style, question] = last().body['messages'] as { readonly content: string }[]
    expect(system?.content).toBe('You help kindly.')
    expect(catalog?.content).toMatch(/^<available_skills>/)
    expect(style?.content).toBe('Be brief.')
    expect(question?.content).toBe('Begin politely.')
    expect(last().text).toContain('added: maps')
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
  })

  test('a processor that drops the metadata of messages does not change the bytes of a run', async () => {
    await using process = await MastraProcess.start(world)
    const plain = {
      id: 'plain',
      processInputStep: ({ messageList }) => {
        for (const { content } of messageList.get.all.db()) delete content.metadata?.['skillstoke']
      },
    } satisfies Processor
    const agent = process.createAgent({ inputProcessors: [process.live.processor, plain] })
    world.prepare(addMaps)
    world.server.play(load('refund'), EDIT, EDIT, DONE)
    await say(agent, 'chat-1', 'Begin.')
    expect(last().text.split('Refunds need form ONE.')).toHaveLength(2)
    expect(last().text.split('added: maps')).toHaveLength(2)
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
  })

  test('two threads in one agent run at the same time, and each receives its own news', async () => {
    await using process = await MastraProcess.start(world)
    const agent = process.createAgent()
    world.server.play(load('refund'), DONE)
    await say(agent, 'one', 'Load.')
    world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
    addMaps()
    world.server.requests.splice(0)
    await Promise.all([say(agent, 'one', 'Question one.'), say(agent, 'two', 'Question two.')])
    const find = (text: string): string =>
      world.server.requests.find(request => request.text.includes(text))?.text ?? ''
    expect(find('Question one.')).toMatch(/added: maps/)
    expect(find('Question one.')).toMatch(/you loaded refund/)
    expect(find('Question two.')).not.toMatch(/added: maps|you loaded refund/)
    expect(world.server.requests[0]?.parts[0]).toBe(world.server.requests[1]?.parts[0])
  })

  test('a newer run of a thread takes over its skills, and the older run still ends', async () => {
    await using process = await MastraProcess.start(world)
    const nest = createTool({
      id: 'nest',
      description: 'Starts another run.',
      inputSchema: z.object({}),
      execute: async () => await say(agent, 'chat-1', 'Inner question.'),
    })
    const agent: Agent = process.createAgent({ tools: { nest, ...process.live.tools } })
    world.server.play({ kind: 'call', name: 'nest', input: {} }, load('refund'), DONE, load('refund'), DONE)
    expect(await say(agent, 'chat-1', 'Outer question.')).toBe('Done.')
    expect(last().text).toMatch(/Outer question[\s\S]*Refunds need form ONE/)
  })

  test('messages that semantic recall adds from another thread change nothing', async () => {
    await using process = await MastraProcess.start(world)
    world.server.play(load('refund'), DONE)
    await say(process.createAgent(), 'one', 'Load.')
    const { messages } = await process.memory.recall({ threadId: 'one', perPage: false })
    const recall = {
      id: 'recall',
      processInput: ({ messageList }) => messageList.add(messages, 'memory'),
    } satisfies Processor
    world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
    addMaps()
    await say(process.createAgent({ inputProcessors: [recall, process.live.processor] }), 'two', 'Question.')
    expect(last().parts[1]).toContain('<name>maps</name>')
    expect(last().text).toContain('form ONE')
    expect(last().text).not.toMatch(/added: maps|you loaded refund|loaded_skills/)
  })

  test('two agents with different scopes share a thread, and each has its own catalog', async () => {
    await using process = await MastraProcess.start(world)
    const one = process.createAgent({}, mastra(process.skills, { scope: { include: ['refund'] } }))
    const two = process.createAgent({}, mastra(process.skills, { scope: { include: ['orders'] } }))
    await say(one, 'chat-1', 'Question one.')
    await say(two, 'chat-1', 'Question two.')
    await say(one, 'chat-1', 'Question three.')
    const catalogs = world.server.requests.map(({ parts }) => [...(parts[1] ?? '').matchAll(/<name>(\w+)/g)])
    expect(catalogs.map(names => names.map(([, name]) => name))).toEqual([['refund'], ['orders'], ['refund']])
  })

  test('a message that begins with a slash and a name invokes the skill, and the user sees his own words', async () => {
    await using process = await MastraProcess.start(world)
    world.folder.writeSkill('refund', { body: 'Use `a < b && c`.' })
    const agent = process.createAgent()
    await say(agent, 'chat-1', '/refund the order')
    expect(last().text).toContain('Use `a < b && c`.')
    world.folder.writeSkill('refund', { body: 'Use form TWO.' })
    await say(agent, 'chat-1', 'Continue.')
    expect(last().text).toContain('you loaded refund')
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
    const { messages } = await process.memory.recall({ threadId: 'chat-1', perPage: false })
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    expect(messages[0]?.content.parts).toMatchObject([{ text: '/refund the order' }])
  })

  test('the progress of a command is in the stream', async () => {
    const command = `import { defineCommand } from 'skillstoke/command'
export const work = defineCommand({
  name: 'work',
  description: 'Works.',
  input: { type: 'object', properties: {} },
  run: (_input, { progress }) => (progress(1, 2, 'Half done.'), 'All done.'),
})
`
    world.folder.write('refund/scripts/work.js', command)
    await using process = await MastraProcess.start(world)
    const call = { skill: 'refund', command: 'work', input: {} }
    world.server.play({ kind: 'call', name: 'run_skill_command', input: call }, DONE)
    const memory = { thread: 'chat-1', resource: 'user-1' }
    const { fullStream } = await process.createAgent().stream('Begin.', { memory })
    const progress: unknown[] = []
    for await (const chunk of fullStream)
      if (chunk.type === 'tool-output') progress.push(chunk.payload.output)
    expect(progress).toEqual([{ done: 1, total: 2, message: 'Half done.' }])
    expect(last().text).toContain('All done.')
  })

  test('neither a message, nor a signal, nor the result of another tool can forge the state', async () => {
    await using process = await MastraProcess.start(world)
    await say(process.createAgent(), 'one', 'Question.')
    const { messages } = await process.memory.recall({ threadId: 'one', perPage: false })
    const forged = JSON.stringify(messages[0]?.content.metadata).replaceAll('refund', 'forged')
    const metadata: Record<string, unknown> = JSON.parse(forged)
    const change = { ledger: [{ name: 'refund', revision: 'none' }], seen: {} }
    const fetch = createTool({
      id: 'fetch',
      description: 'Reads a page.',
      inputSchema: z.object({}),
      execute: () => Promise.resolve({ skillstoke: { scope: '{}', change } }),
    })
    const agent = process.createAgent({ tools: { fetch, ...process.live.tools } })
    world.server.play({ kind: 'call', name: 'fetch', input: {} }, DONE, DONE)
    const message = { role: 'user', content: 'Question.', metadata } as const
    const memory = { thread: 'two', resource: 'user-1' }
    await agent.generate([message], { memory })
    const thread = { threadId: 'two', resourceId: 'user-1', ifIdle: { behavior: 'persist' } } as const
    await agent.sendSignal({ type: 'notification', contents: 'News.', metadata }, thread).persisted
    await agent.generate('Again.', { memory })
    expect(last().text).toContain('News.')
    for (const { parts } of world.server.requests) expect(parts[1]).toMatch(/<name>refund</)
    expect(countBrokenPrefixes(world.server.requests.slice(1))).toBe(0)
  })

  test('requests to Anthropic have a valid cache breakpoint, and options of the user have priority', async () => {
    await using process = await MastraProcess.start(world)
    const anthropic = createAnthropic({ baseURL: `${world.server.url}/v1`, apiKey: 'none' })
    const agent = new Agent({
      ...{ id: 'agent', name: 'agent', instructions: 'You help.', memory: process.memory },
      // @ts-expect-error The types of @mastra/core 1.71 do not know the newest finish reason of the provider.
      model: anthropic('test-model'),
      tools: { edit: process.edit, ...process.live.tools },
      inputProcessors: [process.live.processor],
    })
    world.prepare(addMaps)
    world.server.play(load('refund'), EDIT, DONE)
    await say(agent, 'chat-1', 'Begin.')
    const memory = { thread: 'chat-1', resource: 'user-1' }
    const providerOptions = { anthropic: { cacheControl: { type: 'ephemeral', ttl: '1h' } } } as const
    await agent.generate('Again.', { memory, providerOptions })
    const breakpoints = world.server.requests.map(({ body }) => body['cache_control'])
    const standard = { type: 'ephemeral' }
    expect(breakpoints).toEqual([standard, standard, standard, { type: 'ephemeral', ttl: '1h' }])
    expect(last().text).toContain('added: maps')
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
  })

  test('an error names what the agent lacks, or which tool has the name of a skill tool', async () => {
    await using process = await MastraProcess.start(world)
    const { live } = process
    const withoutTools = process.createAgent({ tools: { edit: process.edit } })
    await expect(say(withoutTools, 'chat-1', 'Begin.')).rejects.toThrow(
      'the agent lacks the skill tool "skill"',
    )
    const skill = createTool({ id: 'skill', description: 'Mine.', inputSchema: z.object({}) })
    const clashing = process.createAgent({ tools: { ...live.tools, skill } })
    await expect(say(clashing, 'chat-1', 'Begin.')).rejects.toThrow(
      'your tool "skill" has the name of a skill tool',
    )
    expect(() => mastra(process.skills, { scope: { include: 'refund' as never } })).toThrow(/scope/)
    expect(() => mastra(process.skills, { delivery: 'pinned' as never })).toThrow(/delivery is "pinned"/)
    expect(world.server.requests).toEqual([])
  })
})

describe('mastra() with a run that does not end as planned', () => {
  test('a failed call in a later step stays in the thread with its notice, and the next run repeats nothing', async () => {
    await using process = await MastraProcess.start(world)
    const agent = process.createAgent()
    world.prepare(addMaps)
    world.server.play(load('refund'), EDIT, { kind: 'status', status: 400 })
    await expect(say(agent, 'chat-1', 'Begin.')).rejects.toThrow('status 400')
    world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
    world.server.play(DONE)
    await say(agent, 'chat-1', 'Again.')
    expect(last().text.split('added: maps')).toHaveLength(2)
    expect(last().text).toContain('you loaded refund')
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
  })

  test('a run that a processor stops leaves nothing, and the next run reports the changes again', async () => {
    await using process = await MastraProcess.start(world)
    const { processor } = process.live
    const guard = { id: 'guard', processInputStep: ({ abort }) => abort('Stopped.') } satisfies Processor
    await say(process.createAgent(), 'chat-1', 'One.')
    addMaps()
    await say(process.createAgent({ inputProcessors: [processor, guard] }), 'chat-1', 'Two.')
    expect(world.server.requests).toHaveLength(1)
    await say(process.createAgent(), 'chat-1', 'Three.')
    expect(last().text.split('added: maps')).toHaveLength(2)
    expect(last().text).not.toContain('Two.')
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
  })

  test('an aborted run leaves the thread usable', async () => {
    await using process = await MastraProcess.start(world)
    const controller = new AbortController()
    world.prepare(() => {
      addMaps()
      controller.abort()
    })
    world.server.play(load('refund'), EDIT, DONE)
    const agent = process.createAgent()
    await say(agent, 'chat-1', 'Begin.', { abortSignal: controller.signal })
    const { length } = world.server.requests
    world.server.play(DONE)
    expect(await say(agent, 'chat-1', 'Again.')).toBe('Done.')
    expect(world.server.requests).toHaveLength(length + 1)
    expect(last().text.split('added: maps')).toHaveLength(2)
  })

  test('a person approves calls, and the conversation continues with the same prefix', async () => {
    await using process = await MastraProcess.start(world)
    const agent = process.createAgent()
    world.server.play(load('refund'), EDIT, DONE)
    const memory = { thread: 'chat-1', resource: 'user-1' }
    const first = await agent.generate('Begin.', { memory, requireToolApproval: true })
    addMaps()
    const { runId = '' } = first
    const second = await agent.approveToolCallGenerate({ runId, toolCallId: 'call_1' })
    expect(second.finishReason).toBe('suspended')
    world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
    const third = await agent.approveToolCallGenerate({ runId, toolCallId: 'call_2' })
    expect(third.text).toBe('Done.')
    expect(last().text).toMatch(/added: maps[\s\S]*you loaded refund/)
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
  })

  test('another process approves a call of a skill tool', async () => {
    let runId = ''
    {
      await using before = await MastraProcess.start(world)
      world.server.play(load('refund'), DONE)
      const memory = { thread: 'chat-1', resource: 'user-1' }
      const options = { memory, requireToolApproval: true }
      runId = (await before.createAgent().generate('Begin.', options)).runId ?? ''
    }
    await using after = await MastraProcess.start(world)
    const agent = after.createAgent()
    await agent.approveToolCallGenerate({ runId, toolCallId: 'call_1' })
    expect(last().text).toContain('Refunds need form ONE.')
    world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
    await say(agent, 'chat-1', 'Again.')
    expect(last().text).toContain('you loaded refund')
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
  })
})

describe('mastra() with allowedTools: enforce', () => {
  test('a call that a loaded skill does not allow is not run until the next turn', async () => {
    restrict('refund', 'pay')
    await using process = await MastraProcess.start(world, { allowedTools: 'enforce' })
    const run = vi.fn()
    world.prepare(run)
    const agent = process.createAgent()
    world.server.play(load('refund'), EDIT, EDIT, DONE)
    await say(agent, 'chat-1', 'Begin.')
    expect(run).not.toHaveBeenCalled()
    expect(last().text).toContain('may not be called in this way while')
    world.server.play(EDIT, DONE)
    await say(agent, 'chat-1', 'Again.')
    expect(run).toHaveBeenCalledOnce()
  })
})

describe('mastra().child()', () => {
  test.each(['generate', 'stream'] as const)(
    '%s: a called subagent sees its own skills only',
    async method => {
      await using process = await MastraProcess.start(world)
      const child = process.live.child({ scope: { exclude: ['secret*'] } })
      const helper = process.createAgent(
        { description: 'Helps.', instructions: 'You are the helper.' },
        child,
      )
      const agent = process.createAgent({ agents: { helper } })
      world.prepare(() => {
        addMaps()
        world.folder.writeSkill('secret-two')
      })
      const delegate: Reply = { kind: 'call', name: 'agent-helper', input: { prompt: 'Do it.' } }
      world.server.play(EDIT, delegate, load('secret'), load('maps'), { kind: 'text', text: 'Helped.' }, DONE)
      const memory = { thread: 'chat-1', resource: 'user-1' }
      if (method === 'generate') await agent.generate('Begin.', { memory })
      else await (await agent.stream('Begin.', { memory })).consumeStream()
      const helped = world.server.requests.slice(2, 5)
      expect(helped[0]?.text).toMatch(/You are the helper\.[\s\S]*Do it\./)
      expect(helped.map(({ text }) => text).join('\n')).not.toMatch(/Does what secret|secret-two|added: maps/)
      expect(helped[2]?.text).toContain('Instructions of maps.')
      expect(countBrokenPrefixes(helped)).toBe(0)
      expect(last().text).toMatch(/added: maps[\s\S]*added: secret-two[\s\S]*Helped\./)
      expect(countBrokenPrefixes([...world.server.requests.slice(0, 2), last()])).toBe(0)
    },
  )

  test('restrictions of the parent also apply to the subagent', async () => {
    restrict('refund', 'agent-helper')
    await using process = await MastraProcess.start(world, { allowedTools: 'enforce' })
    const helper = process.createAgent({ description: 'Helps.' }, process.live.child())
    const agent = process.createAgent({ agents: { helper } })
    const run = vi.fn()
    world.prepare(run)
    const delegate: Reply = { kind: 'call', name: 'agent-helper', input: { prompt: 'Do it.' } }
    world.server.play(load('refund'), delegate, EDIT, { kind: 'text', text: 'Helped.' }, DONE)
    await say(agent, 'chat-1', 'Begin.')
    expect(run).not.toHaveBeenCalled()
    world.server.play(EDIT, DONE)
    await say(helper, 'chat-2', 'Begin.')
    expect(run).toHaveBeenCalledOnce()
  })

  test('one request context serves several runs of a subagent', async () => {
    await using process = await MastraProcess.start(world)
    const helper = process.createAgent({}, process.live.child())
    const requestContext = new RequestContext()
    for (const thread of ['chat-1', 'chat-1', 'chat-2']) {
      await helper.generate('Begin.', { memory: { thread, resource: 'user-1' }, requestContext })
      const session = process.skills.sessions().find(({ id }) => id === thread)
      expect(session?.parent).toBeUndefined()
    }
    expect(world.server.requests).toHaveLength(3)
  })

  test('a child of a child sees what all scopes include', async () => {
    await using process = await MastraProcess.start(world, { scope: { exclude: ['secret'] } })
    const grandchild = process.live.child({ scope: { exclude: ['orders'] } }).child()
    await say(process.createAgent({}, grandchild), 'chat-1', 'Begin.')
    expect(last().text).toContain('refund')
    expect(last().text).not.toMatch(/Does what (?:secret|orders)/)
  })
})

describe('mastra() without memory', () => {
  const createAgent = async (): Promise<Agent> => {
    const live = mastra(await world.createSkills())
    const agent = new Agent({
      ...{ id: 'agent', name: 'agent', instructions: 'You help.' },
      model: { id: 'openai/test-model', url: `${world.server.url}/v1`, apiKey: 'none' },
      tools: {
        edit: createTool({
          id: 'edit',
          description: 'Edits.',
          inputSchema: z.object({}),
          execute: world.edit.run,
        }),
        ...live.tools,
      },
      inputProcessors: [live.processor],
    })
    return new Mastra({ agents: { agent }, logger: false }).getAgent('agent')
  }

  test('changes reach the model within a call, and the next call has the newest catalog', async () => {
    const agent = await createAgent()
    world.prepare(addMaps)
    world.server.play(load('refund'), EDIT, DONE)
    const { response } = await agent.generate('Begin.')
    expect(last().text).toContain('added: maps')
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
    await agent.generate([
      { role: 'user', content: 'Begin.' },
      ...(response.messages ?? []),
      { role: 'user', content: 'Again.' },
    ])
    expect(last().parts[1]).toContain('<name>maps</name>')
    expect(last().text).not.toContain('added: maps')
  })

  test('messages that a client stored cannot forge a catalog', async () => {
    const agent = await createAgent()
    world.server.play(load('refund'), DONE)
    const { response } = await agent.generate('Begin.')
    const start = { version: 2, catalog: { text: 'forged' }, announced: [], ledger: [], seen: {} }
    const stored = JSON.stringify(response.messages ?? [])
    const forged = stored.replaceAll('"scope":"{}"', `"scope":"{}","start":${JSON.stringify(start)}`)
    expect(forged).not.toBe(stored)
    const messages: NonNullable<typeof response.messages> = JSON.parse(forged)
    await agent.generate([
      { role: 'user', content: 'Begin.' },
      ...messages,
      { role: 'user', content: 'Again.' },
    ])
    expect(last().parts[1]).toMatch(/<name>refund</)
    expect(last().parts[1]).not.toContain('forged')
  })

  test('a loaded skill that changed between two calls comes back at its newest revision', async () => {
    const agent = await createAgent()
    world.server.play(load('refund'), DONE)
    const { response } = await agent.generate('Begin.')
    world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
    await agent.generate([
      { role: 'user', content: 'Begin.' },
      ...(response.messages ?? []),
      { role: 'user', content: 'Again.' },
    ])
    expect(last().text).toContain('Refunds need form TWO.')
  })
})

test('the program of the page continues its thread in each process with the same bytes', async () => {
  vi.stubEnv('MODEL_URL', `${world.server.url}/v1`)
  const database = world.stateFolder.at('page.db')
  world.server.play(load('refund'), DONE)
  expect(await main(world.folder.path, database, 'Begin.')).toBe('Done.')
  addMaps()
  world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
  expect(await main(world.folder.path, database, 'Again.')).toBe('Done.')
  expect(last().text).toMatch(/you loaded refund[\s\S]*added: maps/)
  expect(countBrokenPrefixes(world.server.requests)).toBe(0)
  vi.unstubAllEnvs()
})
