import { createSkillRuntime, type SkillRuntime } from '@skillstoke/core'
import { FileSource, MemoryFileSystem, NO_SETTLE } from '@skillstoke/core/source'
import { describe, expect, test } from 'vitest'
import { OpenAiServer } from '../../../tests/fixtures/openai-server.ts'
import { ScriptedModel } from '../../../tests/fixtures/scripted-model.ts'
import { skillText } from '../../../tests/fixtures/skill-folder.ts'
import type { AgentEvent } from './agent-event.ts'
import { MemoryConversationStore } from './memory-conversation-store.ts'
import { createOfflineModel } from './offline-model.ts'
import { resolveModel } from './resolve-model.ts'
import { SkillAgent } from './skill-agent.ts'

async function open(fileSystem: MemoryFileSystem): Promise<SkillRuntime> {
  return await createSkillRuntime({
    sources: [new FileSource({ fileSystem, root: '/skills', label: 'skills' })],
    tuning: { settle: NO_SETTLE },
  })
}

const refund = (body: string): MemoryFileSystem =>
  new MemoryFileSystem({ '/skills/refund/SKILL.md': skillText('refund', { body }) })

describe('SkillAgent with an OpenAI-compatible server', () => {
  test('streams text, runs tools, and sends the same tools and system text in every request', async () => {
    const fileSystem = refund('Within 30 days.')
    await using skills = await open(fileSystem)
    await using server = await OpenAiServer.start(call =>
      call % 2 === 1
        ? { kind: 'tool', name: 'skill', input: { name: 'refund' } }
        : { kind: 'text', text: 'Within thirty days.' },
    )
    const agent = new SkillAgent({ skills, model: resolveModel({ model: 'test', baseUrl: server.baseUrl }) })
    const conversation = agent.conversation('chat')
    const events: AgentEvent[] = []
    for await (const event of conversation.stream('May I?')) events.push(event)
    expect(events.filter(event => event.kind === 'text').map(event => event.delta)).toEqual([
      'Within ',
      'thirty ',
      'days.',
    ])
    expect(events.at(-1)).toEqual({
      kind: 'finish',
      text: 'Within thirty days.',
      steps: 2,
      hasReachedLimit: false,
      finishReason: 'stop',
      usage: { inputTokens: 20, outputTokens: 4, cacheReadTokens: 0, cacheWriteTokens: 0 },
      pending: [],
    })
    fileSystem.write('/skills/refund/SKILL.md', skillText('refund', { body: 'Within 60 days.' }))
    await conversation.send('And now?')
    expect(server.requests.map(request => request.tools)).toEqual(
      Array.from({ length: 4 }, () => server.requests[0]?.tools),
    )
    expect(new Set(server.requests.map(request => request.messages[0]?.content)).size).toBe(1)
    expect(JSON.stringify(server.requests[3]?.messages.at(-1))).toContain('Within 60 days.')
  })

  test('retries a rate-limited call, and stops after maxRetries', async () => {
    await using skills = await open(refund('x'))
    await using server = await OpenAiServer.start(call =>
      call === 1
        ? { kind: 'status', status: 429, headers: { 'retry-after-ms': '1' } }
        : { kind: 'text', text: 'Fine.' },
    )
    const model = resolveModel({ model: 'test', baseUrl: server.baseUrl })
    expect((await new SkillAgent({ skills, model }).conversation().send('Hello')).text).toBe('Fine.')
    expect(server.requests).toHaveLength(2)
    await using refusing = await OpenAiServer.start(() => ({ kind: 'status', status: 429 }))
    const other = new SkillAgent({
      skills,
      model: resolveModel({ model: 'test', baseUrl: refusing.baseUrl }),
      maxRetries: 0,
    })
    await expect(other.conversation('a').send('Hello')).rejects.toMatchObject({ statusCode: 429 })
    expect(refusing.requests).toHaveLength(1)
  })

  test('an aborted call rejects with the given reason, and the conversation can continue', async () => {
    await using skills = await open(refund('x'))
    await using server = await OpenAiServer.start(call =>
      call === 1 ? { kind: 'stall' } : { kind: 'text', text: 'Fine.' },
    )
    const conversation = new SkillAgent({
      skills,
      model: resolveModel({ model: 'test', baseUrl: server.baseUrl }),
    }).conversation()
    const controller = new AbortController()
    const turn = (async () => {
      for await (const event of conversation.stream('Hello', { signal: controller.signal })) {
        if (event.kind === 'text') controller.abort(new Error('enough'))
      }
    })()
    await expect(turn).rejects.toThrow('enough')
    expect(conversation.messages).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'One' },
      { role: 'user', content: '[The user stopped this answer.]' },
    ])
    expect(conversation.comparePrefix().isUnchanged).toBe(true)
    expect((await conversation.send('Again')).text).toBe('Fine.')
    expect(
      server.requests
        .at(-1)
        ?.messages.map(({ content }) => content)
        .slice(1),
    ).toEqual(['Hello', 'One', '[The user stopped this answer.]', 'Again'])
    expect(server.aborted).toBe(1)
  })
})

describe('SkillAgent', () => {
  test('reports a changed skill in the next model call of the same turn', async () => {
    const fileSystem = refund('Within 30 days.')
    await using skills = await open(fileSystem)
    const model = new ScriptedModel(call => {
      if (call !== 1) return { text: 'Done.' }
      fileSystem.write('/skills/maps/SKILL.md', skillText('maps', { description: 'Draws maps.' }))
      return { tool: 'skill', input: { name: 'refund' } }
    })
    await new SkillAgent({ skills, model }).conversation().send('Go.')
    expect(JSON.stringify(model.requests[1]?.prompt.at(-1))).toContain('- added: maps: Draws maps.')
  })

  test('passes the failure of a tool to the model as an error text that names a fix', async () => {
    await using skills = await open(refund('x'))
    const model = new ScriptedModel(call =>
      call === 1 ? { tool: 'skill', input: { name: 'refnud' } } : { text: 'Done.' },
    )
    await new SkillAgent({ skills, model }).conversation().send('Go.')
    expect(model.requests[1]?.prompt.at(-1)).toMatchObject({
      role: 'tool',
      content: [{ output: { type: 'error-text', value: 'no skill "refnud"; did you mean "refund"?' } }],
    })
  })

  test('ends a turn after maxSteps model calls, and reports that the limit was reached', async () => {
    await using skills = await open(refund('x'))
    const model = new ScriptedModel(() => ({ tool: 'skill', input: {} }))
    const result = await new SkillAgent({ skills, model, maxSteps: 3 }).conversation().send('Go.')
    expect(result).toMatchObject({ steps: 3, hasReachedLimit: true })
  })

  test('runs the turns of one conversation one after the other', async () => {
    await using skills = await open(refund('x'))
    const conversation = new SkillAgent({ skills, model: createOfflineModel() }).conversation()
    await Promise.all([conversation.send('one'), conversation.send('two')])
    expect(conversation.messages.map(message => message.role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
    ])
  })

  test('if a notice could not be stored, sends the notice again with the next model call', async () => {
    const fileSystem = refund('x')
    await using skills = await open(fileSystem)
    const store = new MemoryConversationStore()
    let isFull = false
    const append = store.append.bind(store)
    store.append = async (...args) => {
      if (isFull && JSON.stringify(args).includes('skills_update')) throw new Error('disk full')
      return await append(...args)
    }
    const model = new ScriptedModel(() => ({ text: 'Done.' }))
    const conversation = new SkillAgent({ skills, model, store }).conversation()
    fileSystem.write('/skills/maps/SKILL.md', skillText('maps'))
    isFull = true
    await expect(conversation.send('One.')).rejects.toThrow('disk full')
    isFull = false
    await conversation.send('Two.')
    expect(JSON.stringify(model.requests[0]?.prompt)).toContain('- added: maps')
  })

  test('stores the system text first, then all messages in order, each with the skill generation that the conversation knew', async () => {
    await using skills = await open(refund('Within 30 days.'))
    const store = new MemoryConversationStore()
    const conversation = new SkillAgent({
      skills,
      model: createOfflineModel(),
      store,
      tenant: 'acme',
    }).conversation('chat')
    await conversation.send('Use refund.')
    const rows = await store.read('acme', 'chat')
    expect(rows.map(({ seq, role }) => [seq, role])).toEqual([
      [1, 'system'],
      [2, 'user'],
      [3, 'assistant'],
      [4, 'tool'],
      [5, 'assistant'],
    ])
    expect(rows[0]?.content).toBe(conversation.system)
    expect(rows.every(row => row.skills?.digest === skills.current.digest)).toBe(true)
  })
})

describe('resolveModel()', () => {
  test('returns the offline model by default, and returns AI SDK model strings unchanged', () => {
    expect(resolveModel()).toMatchObject({ modelId: 'offline' })
    expect(resolveModel({ model: 'openai/gpt-5' })).toBe('openai/gpt-5')
  })

  test.each([
    [{ baseUrl: 'http://127.0.0.1:1/v1' }, 'needs the name of a model'],
    [{ baseUrl: 'localhost', model: 'x' }, 'is not an http URL'],
    [{ baseUrl: 'ftp://x', model: 'x' }, 'is not an http URL'],
  ])('refuses %j', (config, message) => {
    expect(() => resolveModel(config)).toThrow(message)
  })
})

describe('a turn that ends before a tool answer was stored', () => {
  test.each(['abort', 'break'] as const)('sends each notice exactly once (turn ends by %s)', async end => {
    const fileSystem = refund('Within 30 days.')
    await using skills = await open(fileSystem)
    const model = new ScriptedModel(call =>
      call === 1 || call === 3 ? { tool: 'skill', input: { name: 'refund' } } : { text: 'Done.' },
    )
    const store = new MemoryConversationStore()
    const conversation = new SkillAgent({ skills, model, store }).conversation('chat')
    await conversation.send('May I?')
    fileSystem.write('/skills/refund/SKILL.md', skillText('refund', { body: 'Within 60 days.' }))
    const controller = new AbortController()
    const turn = async (): Promise<void> => {
      for await (const event of conversation.stream('And now?', { signal: controller.signal })) {
        if (event.kind !== 'tool-result') continue
        if (end === 'break') break
        controller.abort(new Error('the user has left'))
      }
    }
    if (end === 'abort') await expect(turn()).rejects.toThrow('the user has left')
    else await turn()
    await conversation.send('Again?')
    const last = JSON.stringify(model.requests.at(-1)?.prompt)
    expect(last).not.toContain('60 days')
    expect(last).toMatch(/you loaded refund at \w+, it is now \w+: load it again/)
    const loaded = (await store.readSession('local', 'chat'))?.ledger[0]
    expect(loaded?.revision).not.toBe(skills.current.get('refund').revision)
  })
})

test('SkillAgent separates two conversations that have the same id but different tenants', async () => {
  await using skills = await open(refund('Within 30 days.'))
  const model = new ScriptedModel(() => ({ text: 'Yes.' }))
  const store = new MemoryConversationStore()
  const [acme, globex, local] = ['acme', 'globex', undefined].map(
    tenant => new SkillAgent({ skills, model, store, ...(tenant === undefined ? {} : { tenant }) }),
  )
  for (const agent of [acme, globex, local]) await agent?.conversation('chat-1').send('May I?')
  await acme?.open('chat-1')
  expect((await globex?.conversation('chat-1').send('Really?'))?.text).toBe('Yes.')
  expect(skills.sessions().map(({ id }) => id)).toEqual(['chat-1@acme', 'chat-1@globex', 'chat-1'])
})
