import type Anthropic from '@anthropic-ai/sdk'
import { anthropicLoop, followToolRunner } from '@skillstoke/adapters/loop'
import { SkillError, type SkillRuntime } from '@skillstoke/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createAnthropic, toLoopTool } from './loop.ts'
import { countBrokenPrefixes, type Reply } from './model-server.ts'
import { World } from './world.ts'

type Message = Anthropic.Beta.BetaMessageParam
type Chat = ReturnType<typeof anthropicLoop<Message>>

const SETTINGS = { model: 'test-model', max_tokens: 1024 }
const DONE: Reply = { kind: 'text', text: 'Done.' }
const EDIT: Reply = { kind: 'call', name: 'edit', input: {} }
const LOAD: Reply = { kind: 'call', name: 'skill', input: { name: 'refund' } }

let world: World
let skills: SkillRuntime

beforeEach(async () => {
  world = await World.open()
  skills = await world.createSkills()
})

afterEach(async () => await world[Symbol.asyncDispose]())

function open(options: Partial<Parameters<typeof anthropicLoop<Message>>[1]> = {}): Chat {
  const all = { id: 'chat-1', instructions: 'You help.', tools: [toLoopTool(world.edit)], ...options }
  return anthropicLoop<Message>(skills, all)
}

async function stream(chat: Chat, ...replies: readonly Reply[]): Promise<void> {
  world.server.play(...replies)
  const turn = await chat.turn('Begin.')
  const { messages } = createAnthropic(world).beta
  while (await turn.answer(await messages.stream({ ...SETTINGS, ...(await turn.request()) }).finalMessage()));
  turn.keep()
}

/** An answer of the model with blocks that the test server does not write. */
function answerOf(stop_reason: string, ...content: readonly { readonly type: string }[]) {
  return { content, stop_reason }
}

function useOf(id: string, name: string, input: object = {}) {
  return { type: 'tool_use', id, name, input }
}

function addMaps(): void {
  world.folder.writeSkill('maps')
}

describe('a request', () => {
  test('has three cache breakpoints, none of them in a message, and alternating roles', async () => {
    const chat = open()
    world.prepare(addMaps)
    await stream(chat, LOAD, EDIT, LOAD, DONE)
    world.prepare(() => world.folder.writeSkill('charts'))
    await stream(chat, EDIT, DONE)
    await chat.compact('A summary.')
    await stream(chat, EDIT, DONE)
    for (const { body } of world.server.requests) {
      expect(JSON.stringify(body).split('"cache_control":{"type":"ephemeral"}').length - 1).toBe(3)
      expect(body['cache_control']).toEqual({ type: 'ephemeral' })
      expect(JSON.stringify(body['messages'])).not.toContain('cache_control')
      const roles = (body['messages'] as Message[]).map(({ role }) => role)
      expect(roles).toEqual(roles.map((_role, index) => (index % 2 === 0 ? 'user' : 'assistant')))
    }
    expect(world.server.requests.length).toBe(8)
    expect(countBrokenPrefixes(world.server.requests.slice(0, 6))).toBe(0)
  })

  test('has the same lifetime at all breakpoints', async () => {
    await stream(open({ cacheTtl: '1h' }), DONE)
    const text = JSON.stringify(world.server.requests[0]?.body)
    expect(text.split('"cache_control":{"type":"ephemeral","ttl":"1h"}').length - 1).toBe(3)
    expect(text.split('"cache_control"').length - 1).toBe(3)
  })

  test('has no system text if there are no instructions and no skills', async () => {
    using chat = anthropicLoop<Message>(skills, { id: 'chat-1', scope: { include: ['nothing'] } })
    const turn = await chat.turn('Begin.')
    expect((await turn.request()).system).toEqual([])
  })

  test('ends with the notice, after the results of the tools', async () => {
    const chat = open()
    world.prepare(addMaps)
    const turn = await chat.turn('Begin.')
    await turn.answer(answerOf('tool_use', useOf('a', 'edit'), useOf('b', 'refund'), useOf('c', 'edit')))
    const { messages } = await turn.request()
    expect(messages.at(-1)).toEqual({
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'a', content: 'Edited.' },
        expect.objectContaining({
          tool_use_id: 'b',
          is_error: true,
          content: expect.stringContaining('it is a skill'),
        }),
        { type: 'tool_result', tool_use_id: 'c', content: 'Edited.' },
        { type: 'text', text: expect.stringContaining('added: maps') },
      ],
    })
  })

  test('puts the next prompt into the user turn of a kept turn without an answer', async () => {
    const chat = open()
    ;(await chat.turn('One.')).keep()
    const before = JSON.stringify(chat.messages)
    const kept = chat.messages
    const turn = await chat.turn([{ role: 'user', content: 'Two.' }])
    expect(turn.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'One.' },
          { type: 'text', text: 'Two.' },
        ],
      },
    ])
    expect(JSON.stringify(kept)).toBe(before)
  })

  test('accepts only the lifetimes of the API', () => {
    const misspelt = '2h' as '1h'
    expect(() => open({ cacheTtl: misspelt })).toThrow(SkillError)
  })
})

describe('an answer', () => {
  test('that was cut off runs no tool', async () => {
    let edits = 0
    world.prepare(() => edits++)
    const turn = await open().turn('Begin.')
    expect(await turn.answer(answerOf('max_tokens', useOf('a', 'edit')))).toBe(true)
    const content =
      'the answer ended with "max_tokens" before this call was complete, so the call did not run'
    const result = { type: 'tool_result', tool_use_id: 'a', content, is_error: true }
    expect(turn.messages.at(-1)?.content).toEqual([result])
    expect(edits).toBe(0)
  })

  test('that pauses is the last message of the next request, and the notice follows later', async () => {
    const turn = await open().turn('Begin.')
    expect(await turn.answer(answerOf('pause_turn', { type: 'server_tool_use' }))).toBe(true)
    addMaps()
    expect((await turn.request()).messages.at(-1)?.role).toBe('assistant')
    expect(await turn.answer(answerOf('tool_use', useOf('a', 'skill')))).toBe(true)
    const { messages } = await turn.request()
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
    expect(JSON.stringify(messages.at(-1))).toContain('added: maps')
  })

  test('with a summary that failed keeps the history', async () => {
    const turn = await open().turn('Begin.')
    const failed = { type: 'compaction', content: null, encrypted_content: null }
    await turn.answer(answerOf('end_turn', failed, { type: 'text' }))
    expect(turn.messages.length).toBe(2)
  })

  test('without content adds no message', async () => {
    const turn = await open().turn('Begin.')
    expect(await turn.answer(answerOf('end_turn'))).toBe(false)
    expect(turn.messages.length).toBe(1)
  })

  test('that begins with a summary replaces the history and brings loaded skills back', async () => {
    const chat = open()
    await stream(chat, LOAD, DONE)
    world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
    addMaps()
    const turn = await chat.turn('Go on.')
    const summary = { type: 'compaction', content: 'A summary.', encrypted_content: null }
    expect(await turn.answer(answerOf('tool_use', summary, useOf('a', 'edit')))).toBe(true)
    const { messages, system } = await turn.request()
    expect(messages[0]?.content).toEqual([summary, useOf('a', 'edit')])
    expect(messages.length).toBe(2)
    expect(JSON.stringify(messages).split('form TWO').length).toBe(2)
    expect(JSON.stringify(messages)).not.toMatch(/form ONE|Begin|skills_update/)
    expect(system[0]?.text).toContain('maps')
    turn.drop()
    expect(chat.messages).toEqual(messages)
  })
})

describe('followToolRunner()', () => {
  test('runs no tool of an answer that was cut off, and answers its calls', async () => {
    const runner = {
      async *[Symbol.asyncIterator]() {
        yield answerOf('max_tokens', useOf('a', 'edit'))
      },
      generateToolResponse: () => Promise.reject(new Error('the runner does not run the tools')),
    }
    const turn = await open().turn('Begin.')
    for await (const reply of followToolRunner(turn, runner)) expect(reply.stop_reason).toBe('max_tokens')
    expect(JSON.stringify(turn.messages.at(-1))).toContain('"is_error":true')
  })

  test('appends the notice to the messages that a threaded runner sends', async () => {
    const chat = open()
    world.server.play(EDIT)
    world.prepare(addMaps)
    const turn = await chat.turn('Begin.')
    const runner = createAnthropic(world).beta.messages.toolRunner({ ...SETTINGS, ...(await turn.request()) })
    const reasons: (string | null)[] = []
    for await (const reply of followToolRunner(turn, runner)) reasons.push(reply.stop_reason)
    turn.keep()
    expect(reasons).toEqual(['tool_use', 'end_turn'])
    expect(world.server.requests[0]?.body['thread']).toEqual({ type: 'create' })
    // A request that continues a thread has no tools, so the server counts it as an aside.
    expect(world.server.asides[0]?.body['messages']).toEqual([chat.messages[2]])
    expect(JSON.stringify(chat.messages[2])).toContain('added: maps')
    expect(chat.messages).toEqual(runner.params.messages)
  })

  test('explains unknown tools and marks failures', async () => {
    const review = '---\nname: review\ndescription: Reviews code.\nallowed-tools: Read\n---\nReview.\n'
    world.folder.write('review/SKILL.md', review)
    await skills.fresh()
    const turn = await open({ allowedTools: 'enforce' }).turn('/review')
    world.server.play({ kind: 'call', name: 'refund', input: {} }, EDIT, DONE)
    await run(turn)
    expect(turn.messages.filter(({ role }) => role === 'user').slice(1)).toEqual([
      {
        role: 'user',
        content: [
          expect.objectContaining({ is_error: true, content: expect.stringContaining('it is a skill') }),
        ],
      },
      {
        role: 'user',
        content: [expect.objectContaining({ is_error: true, content: expect.stringContaining('"edit"') })],
      },
    ])
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
  })

  test('leaves no trace of a runner that fails', async () => {
    const chat = open()
    const before = JSON.stringify(chat.state())
    world.server.play(EDIT, { kind: 'status', status: 400 })
    world.prepare(addMaps)
    await expect(run(await chat.turn('Begin.'))).rejects.toThrow('400')
    expect(JSON.stringify(chat.state())).toBe(before)
    await stream(chat, DONE)
    expect(world.server.requests.at(-1)?.text.split('added: maps').length).toBe(2)
  })

  async function run(turn: Awaited<ReturnType<Chat['turn']>>): Promise<void> {
    const settings = { ...SETTINGS, thread: false as const, ...(await turn.request()) }
    const runner = createAnthropic(world).beta.messages.toolRunner(settings)
    for await (const reply of followToolRunner(turn, runner)) expect(reply.role).toBe('assistant')
  }
})
