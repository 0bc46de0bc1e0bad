import { readFileSync } from 'node:fs'
import {
  type LoopOptions,
  type LoopTool,
  openaiChatLoop,
  openaiResponsesLoop,
} from '@skillstoke/adapters/loop'
import { SkillError, type SkillRuntime } from '@skillstoke/core'
import type OpenAI from 'openai'
import { toResponseInputItems } from 'openai/lib/responses/ResponseInputItems'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cloudflareSkillsHarness } from './cloudflare-skills.ts'
import { main } from './examples/loop.ts'
import {
  anthropicHarness,
  createOpenai,
  openaiChatHarness,
  openaiResponsesHarness,
  toLoopTool,
  toolRunnerHarness,
} from './loop.ts'
import { countBrokenPrefixes, type Reply } from './model-server.ts'
import { testHarness } from './test-harness.ts'
import { World } from './world.ts'

type Message = OpenAI.ChatCompletionMessageParam
type Chat = ReturnType<typeof openaiChatLoop<Message>>
type Turn = Awaited<ReturnType<Chat['turn']>>

const HARNESSES = [
  openaiChatHarness,
  openaiResponsesHarness,
  anthropicHarness,
  toolRunnerHarness,
  cloudflareSkillsHarness,
]
const DONE: Reply = { kind: 'text', text: 'Done.' }
const EDIT: Reply = { kind: 'call', name: 'edit', input: {} }
const LOAD: Reply = { kind: 'call', name: 'skill', input: { name: 'refund' } }

for (const each of HARNESSES) testHarness(each)

let world: World
let skills: SkillRuntime

beforeEach(async () => {
  world = await World.open()
  skills = await world.createSkills()
})

afterEach(async () => await world[Symbol.asyncDispose]())

function open(options: Partial<LoopOptions<Message>> = {}): Chat {
  return openaiChatLoop<Message>(skills, { id: 'chat-1', tools: [toLoopTool(world.edit)], ...options })
}

/** Runs a turn to its end, and does not keep it. */
async function run(chat: Chat, ...replies: readonly Reply[]): Promise<Turn> {
  world.server.play(...replies)
  const turn = await chat.turn('Begin.')
  const { chat: api } = createOpenai(world)
  for (;;) {
    const answer = await api.completions.create({ model: 'test-model', ...(await turn.request()) })
    if (!(await turn.answer(answer))) return turn
  }
}

async function keep(chat: Chat, ...replies: readonly Reply[]): Promise<void> {
  ;(await run(chat, ...replies)).keep()
}

/** An answer with one call of a tool. */
function callOf(name: string, input: string): Parameters<Turn['answer']>[0] {
  const called = { id: 'call-1', type: 'function', function: { name, arguments: input } }
  return { choices: [{ message: { content: null, tool_calls: [called] } }] }
}

/** Answers a turn with one call of a tool, and returns what the model receives. */
async function resultOf(chat: Chat, name: string, input: string): Promise<unknown> {
  const turn = await chat.turn('Begin.')
  await turn.answer(callOf(name, input))
  return turn.messages.at(-1)?.content
}

const codeOf = (call: () => unknown): unknown => {
  try {
    return call()
  } catch (thrown) {
    return SkillError.isInstance(thrown) ? thrown.code : thrown
  }
}

describe('the example program', () => {
  test('is the code of the page', () => {
    const page = readFileSync('docs/sdks/loop.md', 'utf8')
    expect(page).toContain(`\`\`\`ts\n${readFileSync('tests/sdks/examples/loop.ts', 'utf8')}\`\`\`\n`)
  })

  test('loads a skill and returns the answer of the model', async () => {
    process.env['MODEL_URL'] = `${world.server.url}/v1`
    world.server.play(LOAD, DONE)
    expect(await main(world.folder.path, 'May I get a refund?')).toBe('Done.')
    expect(world.server.requests.at(-1)?.text).toContain('form ONE')
  })
})

describe('a tool of the host', () => {
  const create = (execute: LoopTool['execute']): LoopTool => ({
    name: 'look',
    inputSchema: { type: 'object' },
    execute,
  })

  test('gets its input and may return text, a result or content blocks', async () => {
    const echo = create(({ path }: { path: string }) => `Contents of ${path}.`)
    expect(await resultOf(open({ tools: [echo] }), 'look', '{"path":"a.txt"}')).toBe('Contents of a.txt.')
    const failing = create(() => ({ text: 'no such file', isError: true }))
    expect(await resultOf(open({ id: 'chat-2', tools: [failing] }), 'look', '')).toBe('no such file')
    const blocks = [{ type: 'text', text: 'A block.' }]
    expect(await resultOf(open({ id: 'chat-3', tools: [create(() => blocks)] }), 'look', '{}')).toEqual(
      blocks,
    )
  })

  test('that throws answers with the message of its error', async () => {
    const failing = create(() => Promise.reject(new Error('disk is full')))
    expect(await resultOf(open({ tools: [failing] }), 'look', '{}')).toBe(
      'the tool "look" failed: disk is full',
    )
  })

  test('does not run with arguments that are not JSON', async () => {
    let calls = 0
    const counting = create(() => `${++calls}`)
    const result = await resultOf(open({ tools: [counting] }), 'look', '{"path":')
    expect(result).toMatch(/^the arguments of "look" are not JSON/)
    expect(calls).toBe(0)
  })

  test('must not have the name of a skill tool', () => {
    const clash = { ...create(() => ''), name: 'skill' }
    expect(codeOf(() => open({ tools: [clash] }))).toBe('INVALID_OPTION')
  })

  test('that does not exist is answered with what the model may have meant', async () => {
    const chat = open()
    expect(await resultOf(chat, 'refund', '{}')).toContain('it is a skill; call the tool "skill"')
    expect(await resultOf(chat, 'nothing', '{}')).toMatch(
      /there is no tool "nothing"; the tools are .*"edit"/,
    )
  })

  test('is refused while an active skill does not allow it', async () => {
    world.folder.write(
      'review/SKILL.md',
      '---\nname: review\ndescription: Reviews code.\nallowed-tools: Read\n---\nReview.\n',
    )
    await skills.fresh()
    const chat = open({ allowedTools: 'enforce' })
    let edits = 0
    world.prepare(() => edits++)
    const turn = await chat.turn('/review')
    await turn.answer(callOf('edit', '{}'))
    expect(turn.messages.at(-1)?.content).toContain('"edit"')
    expect(edits).toBe(0)
    turn.keep()
    // The result of a tool that the host ran between two requests does not end the turn.
    const next = await chat.turn([{ role: 'tool', tool_call_id: 'call-1', content: 'Approved.' }])
    await next.answer(callOf('edit', '{}'))
    expect(edits).toBe(0)
    await resultOf(chat, 'edit', '{}')
    expect(edits).toBe(1)
  })
})

describe('a turn', () => {
  test('that is not kept leaves no trace, and its notice is sent again', async () => {
    const chat = open()
    await keep(chat, DONE)
    const before = JSON.stringify(chat.state())
    world.prepare(() => world.folder.writeSkill('maps'))
    await run(chat, LOAD, EDIT, DONE)
    expect(world.server.requests.at(-1)?.text).toContain('added: maps')
    expect(JSON.stringify(chat.state())).toBe(before)
    await keep(chat, DONE)
    expect(world.server.requests.at(-1)?.text.split('added: maps').length).toBe(2)
    expect(chat.session.ledger.entries()).toEqual([])
  })

  test('repeats its request after a failed model call', async () => {
    const chat = open()
    world.server.play(EDIT, { kind: 'status', status: 500 }, DONE)
    world.prepare(() => world.folder.writeSkill('maps'))
    const turn = await chat.turn('Begin.')
    const create = async (): Promise<boolean> => {
      const request = { model: 'test-model', ...(await turn.request()) }
      return await turn.answer(await createOpenai(world).chat.completions.create(request))
    }
    expect(await create()).toBe(true)
    await expect(create()).rejects.toThrow('500')
    expect(await create()).toBe(false)
    turn.keep()
    const [, failed, repeated] = world.server.requests
    expect(repeated?.text).toBe(failed?.text)
    expect(failed?.text).toContain('added: maps')
  })

  test('is over after keep(), after drop() and when the next turn starts', async () => {
    const chat = open()
    const kept = await chat.turn('One.')
    kept.keep()
    await expect(kept.request()).rejects.toThrow('this turn is over')
    const dropped = await chat.turn('/refund')
    dropped.drop()
    expect(chat.session.ledger.entries()).toEqual([])
    expect(codeOf(() => dropped.keep())).toBe('CLOSED')
    const replaced = await chat.turn('Three.')
    const last = await chat.turn('Four.')
    expect(codeOf(() => replaced.keep())).toBe('CLOSED')
    replaced.drop()
    last.keep()
    expect(chat.messages.map(({ content }) => content)).toEqual(['One.', 'Four.'])
  })

  test('that the next turn replaces in the middle of a call appends nothing and reports nothing', async () => {
    const chat = open()
    const asking = await chat.turn('One.')
    world.folder.writeSkill('maps')
    const asked = expect(asking.request()).rejects.toThrow('this turn is over')
    const answering = await chat.turn('Two.')
    await asked
    const answered = expect(answering.answer(callOf('edit', '{}'))).rejects.toThrow('this turn is over')
    const last = await chat.turn('Three.')
    await answered
    expect([asking, answering].map(({ messages }) => messages.length)).toEqual([1, 1])
    expect(JSON.stringify((await last.request()).messages)).toContain('added: maps')
  })

  test('rejects with the reason of an aborted signal and appends nothing', async () => {
    const controller = new AbortController()
    const slow: LoopTool = {
      name: 'slow',
      inputSchema: { type: 'object' },
      execute: (_input, { signal }) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(new Error('stopped')))
          controller.abort(new Error('the user left'))
        }),
    }
    const chat = open({ tools: [slow] })
    const turn = await chat.turn('Begin.')
    const { signal } = controller
    await expect(turn.answer(callOf('slow', '{}'), { signal })).rejects.toThrow('the user left')
    expect(turn.messages.length).toBe(1)
    turn.drop()
    await keep(chat, DONE)
    expect(chat.messages.length).toBe(2)
  })

  test('takes messages of the host between two model calls', async () => {
    const chat = open()
    const turn = await chat.turn([{ role: 'user', content: [{ type: 'text', text: 'Begin.' }] }])
    turn.add({ role: 'user', content: 'Also this.' })
    expect((await turn.request()).messages.slice(1)).toEqual(turn.messages)
    expect(turn.messages.length).toBe(2)
  })
})

describe('a conversation', () => {
  test('may mix streamed and plain calls and sends back no field that only answers have', async () => {
    const chat = open()
    await keep(chat, LOAD, DONE)
    world.server.play(LOAD, DONE)
    const turn = await chat.turn('Again.')
    for (;;) {
      const request = { model: 'test-model', ...(await turn.request()) }
      const stream = createOpenai(world).chat.completions.stream(request)
      if (!(await turn.answer(await stream.finalChatCompletion()))) break
    }
    turn.keep()
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
    await keep(chat, DONE)
    expect(world.server.requests.at(-1)?.text).not.toContain('"parsed')
  })

  test('sends back no field that only answers of the Responses API have', async () => {
    const chat = openaiResponsesLoop(skills, { id: 'chat-1' })
    const turn = await chat.turn('Begin.')
    const part = { type: 'output_text', text: 'Hello.', annotations: [], parsed: null }
    await turn.answer({ output: [{ type: 'message', content: [part] } as { type: string }] })
    expect(turn.messages.at(-1)).toEqual({
      type: 'message',
      content: [{ type: 'output_text', text: 'Hello.', annotations: [] }],
    })
  })

  test('begins with a history of the Responses API that the host stored', async () => {
    type Item = OpenAI.Responses.ResponseInputItem
    const stored: Parameters<typeof toResponseInputItems>[0] = [
      { role: 'user', content: 'The first question.' },
      JSON.parse(
        '{"type":"function_call","id":"f1","call_id":"c1","name":"look","arguments":"{}","parsed_arguments":{},"created_by":"a"}',
      ) as Item,
      { type: 'function_call_output', call_id: 'c1', output: 'Looked.' },
    ]
    const chat = openaiResponsesLoop<Item>(skills, { id: 'chat-1' })
    await chat.compact(toResponseInputItems(stored))
    const turn = await chat.turn('Go on.')
    expect((await turn.request()).input).toEqual([
      { role: 'user', content: 'The first question.' },
      { type: 'function_call', id: 'f1', call_id: 'c1', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'Looked.' },
      { role: 'user', content: 'Go on.' },
    ])
  })

  test('compact() leaves the notices out of the messages that stay', async () => {
    const chat = open()
    world.prepare(() => world.folder.writeSkill('maps'))
    await keep(chat, EDIT, DONE)
    expect(JSON.stringify(chat.messages)).toContain('added: maps')
    await chat.compact(chat.messages.filter(({ role }) => role === 'user'))
    expect(JSON.stringify(chat.messages)).not.toContain('added: maps')
    expect(chat.messages).toHaveLength(1)
    expect(chat.instructions).toContain('maps')
  })

  test('does not see the skills of another conversation', async () => {
    const one = open({ scope: { exclude: ['secret'] } })
    const two = open({ id: 'chat-2' })
    const open2 = await two.turn('Begin.')
    world.prepare(() => world.folder.writeSkill('maps'))
    await keep(one, EDIT, DONE)
    const told = (await open2.request()).messages
    open2.keep()
    expect(world.server.requests.map(({ text }) => text).join('\n')).not.toContain('secret')
    expect(JSON.stringify(told)).toContain('secret')
    expect(JSON.stringify(told).split('added: maps').length).toBe(2)
  })

  test('continues from a summary in an open turn, even if the turn is dropped', async () => {
    const chat = open()
    await keep(chat, LOAD, DONE)
    world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
    const turn = await chat.turn('Begin.')
    await chat.compact('A summary.')
    const { messages } = await turn.request()
    expect(messages.length).toBe(3)
    expect(JSON.stringify(messages)).toContain('form TWO')
    expect(chat.state()).toEqual({ messages: messages.slice(1), session: chat.session.state() })
    turn.drop()
    expect(chat.messages.length).toBe(2)
    expect(chat.session.ledger.entries().map(({ name }) => name)).toEqual(['refund'])
  })

  test('starts over after a summary of the Responses API', async () => {
    const chat = openaiResponsesLoop<OpenAI.Responses.ResponseInputItem>(skills, { id: 'chat-1' })
    const first = await chat.turn('Begin.')
    const load = { type: 'function_call', call_id: 'c1', name: 'skill', arguments: '{"name":"refund"}' }
    await first.answer({ output: [load] })
    first.keep()
    world.folder.writeSkill('refund', { body: 'Refunds need form TWO.' })
    const summary = { type: 'compaction', id: 'c2', encrypted_content: 'abc' }
    const turn = await chat.turn('Go on.')
    await turn.request()
    const lost = { type: 'function_call', call_id: 'c3', name: 'skill', arguments: '{}' }
    expect(await turn.answer({ output: [lost, summary, { type: 'message' }] })).toBe(false)
    const text = JSON.stringify((await turn.request()).input)
    expect(turn.messages.slice(0, 2)).toEqual([summary, { type: 'message' }])
    expect(text).toContain('form TWO')
    expect(text).not.toMatch(/form ONE|Begin|skills_update/)
    turn.keep()
    expect(chat.messages.length).toBe(3)
  })

  test('gives a subagent the tools of the parent, or other tools', async () => {
    const chat = open()
    const same = chat.child({ id: 'chat-1/same' })
    const other = chat.child({ id: 'chat-1/other', tools: [] })
    const namesOf = async (each: Chat): Promise<readonly string[]> =>
      (await (await each.turn('Begin.')).request()).tools.map(tool => tool.function.name)
    expect(await namesOf(same)).toEqual(await namesOf(chat))
    expect(await namesOf(other)).not.toContain('edit')
  })
})
