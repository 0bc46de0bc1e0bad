import { createSkillRuntime, MemorySource, type SkillRuntime } from '@skillstoke/core'
import { NO_SETTLE } from '@skillstoke/core/source'
import { generateText, jsonSchema, type ModelMessage, stepCountIs, tool } from 'ai'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type ScriptedAnswer, ScriptedModel } from '../../../../tests/fixtures/scripted-model.ts'
import { type AiSdkChat, type AiTool, aiSdk } from '../ai-sdk.ts'
import type { AiMessage } from './turn.ts'

let source: MemorySource
let skills: SkillRuntime
let chat: AiSdkChat
beforeEach(async () => {
  source = new MemorySource({ label: 'mine' }, [
    { name: 'review', description: 'Reviews.', body: 'Only read.', fields: { 'allowed-tools': 'Read' } },
  ])
  skills = await createSkillRuntime({ sources: [source], tuning: { settle: NO_SETTLE } })
  chat = aiSdk(skills, { id: 'chat-1', allowedTools: 'enforce' })
})
afterEach(async () => {
  chat.close()
  await skills.close()
})

const text = (role: string, value: string): AiMessage => ({ role, content: [{ type: 'text', text: value }] })
const toolResult = (toolCallId: string): AiMessage => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId, toolName: 'any', output: { type: 'text', value: 'Text.' } }],
})

const tools = { Write: { execute: () => 'Written.' } }

/** Sends the messages of a page. Returns the messages with the notice of the request, and the tools of the request. */
const send = async (messages: readonly AiMessage[]) => {
  const notices: AiMessage[] = []
  const steer = async (notice: string): Promise<void> => void notices.push(text('user', notice))
  const call = await chat.ui(messages, { steering: { steer }, tools })
  return { messages: [...messages, ...notices], call }
}

/** Sends the messages of a page, and loads a skill in the request. Returns the messages with the loaded skill. */
const load = async (messages: readonly AiMessage[], name: string, toolCallId: string) => {
  const sent = await send(messages)
  const { skill } = sent.call.tools as unknown as Record<string, AiTool>
  const output = await skill?.execute({ name }, { toolCallId })
  expect(output).toMatchObject({ isError: false })
  return [...sent.messages, toolResult(toolCallId)]
}

const isLoaded = (name: string): boolean => chat.session.ledger.find(name) !== undefined

describe('the record of a page', () => {
  test('takes back the newest turns however many notices the conversation had', async () => {
    let messages: readonly AiMessage[] = []
    for (let count = 1; count <= 70; count++) {
      source.put({ name: 'counted', description: `Version ${count}.` })
      const sent = await send([...messages, text('user', 'Go on.')])
      messages = [...sent.messages, text('assistant', 'Done.')]
      if (count < 55) continue
      source.put({ name: `new-${count}`, description: 'Use on request.' })
      const loaded = await load([...messages, text('user', 'Load it.')], `new-${count}`, `call-${count}`)
      await send([...loaded, text('user', 'Thanks.')])
      const again = await send([...messages, text('user', 'Another question.')])
      expect(JSON.stringify(again.messages.at(-1))).toContain(`added: new-${count}`)
      expect(isLoaded(`new-${count}`)).toBe(false)
      messages = again.messages
    }
  })

  test('forgets all turns that a page takes back at once', async () => {
    let messages = await load([text('user', 'Load it.')], 'review', 'call-1')
    const start = messages
    for (let count = 1; count <= 70; count++) {
      source.put({ name: 'counted', description: `Version ${count}.` })
      messages = (await send([...messages, text('user', 'Go on.')])).messages
    }
    const again = await send([...start, text('user', 'Another question.')])
    expect(JSON.stringify(again.messages.at(-1))).toContain('added: counted: Version 70.')
    expect(isLoaded('review')).toBe(true)
    await send([text('user', 'Start again.')])
    expect(isLoaded('review')).toBe(false)
  })

  test('a text that contains the id of a tool call is no tool result', async () => {
    for (const toolCallId of ['1', 'functions.skill:1']) {
      await load([text('user', 'Load it.')], 'review', toolCallId)
      expect(isLoaded('review')).toBe(true)
      await send([text('user', 'One example, see functions.skill:10.'), toolResult(`${toolCallId}0`)])
      expect(isLoaded('review')).toBe(false)
    }
  })
})

describe('with allowedTools: "enforce"', () => {
  const REFUSED = /may not be called in this way while "review" is active/
  const write = (call: { readonly tools: typeof tools }): (() => unknown) => call.tools.Write.execute
  const begin = async (): Promise<readonly AiMessage[]> =>
    await load([text('user', 'Review it.')], 'review', 'call-1')

  test('an approval, or the output of a tool of the browser, continues the turn', async () => {
    const messages = await begin()
    source.put({ name: 'maps', description: 'Use on request.' })
    const ended = [...messages, text('assistant', 'Where?'), toolResult('call-2')]
    const next = await send(ended)
    expect(write(next.call)).toThrow(REFUSED)
    // The page did not get the notice, so the record is rewound. A notice is no question either.
    const again = await send([...ended, toolResult('call-3')])
    expect(write(again.call)).toThrow(REFUSED)
    const noticed = await send(again.messages)
    expect(JSON.stringify(noticed.messages.at(-1))).toContain('added: maps')
    expect(write(noticed.call)).toThrow(REFUSED)
    const asked = await send([...noticed.messages, text('user', 'Now write.'), text('system', 'Be brief.')])
    expect(write(asked.call)()).toBe('Written.')
  })

  test('a conversation that another process continues in the middle of a turn is still restricted', async () => {
    const messages = await begin()
    for (const [role, isRefused] of [
      ['tool', true],
      ['user', false],
      ['tool', false],
    ] as const) {
      const resume = JSON.parse(JSON.stringify(chat.state())) as ReturnType<typeof chat.state>
      chat.close()
      chat = aiSdk(skills, { id: 'chat-1', allowedTools: 'enforce', resume })
      const { call } = await send([
        ...messages,
        role === 'user' ? text(role, 'Write.') : toolResult('call-2'),
      ])
      if (isRefused) expect(write(call)).toThrow(REFUSED)
      else expect(write(call)()).toBe('Written.')
    }
  })

  test('turn() with an approval continues the turn, also if its call was not kept', async () => {
    const LOAD = { tool: 'skill', input: { name: 'review' } }
    const [READ, WRITE, DONE] = [{ tool: 'Read', input: {} }, { tool: 'Write', input: {} }, { text: 'Done.' }]
    const script: ScriptedAnswer[] = [LOAD, READ, WRITE, WRITE, DONE, WRITE, DONE]
    const model = new ScriptedModel(call => script[call - 1] ?? DONE)
    const ran: string[] = []
    const note = (name: string) => ({
      inputSchema: jsonSchema({ type: 'object' }),
      execute: () => ran.push(name),
    })
    const own = { Read: tool({ ...note('Read'), needsApproval: true }), Write: tool(note('Write')) }
    using live = aiSdk<ModelMessage>(skills, { id: 'chat-2', allowedTools: 'enforce' })
    const run = async (prompt: string | readonly ModelMessage[], steps: number) =>
      await generateText({
        ...{ model, stopWhen: stepCountIs(steps) },
        ...(await live.turn(prompt, { tools: own })),
      })
    const first = await run('Review it.', 5)
    await live.keep(first)
    const request = first.content.find(({ type }) => type === 'tool-approval-request')
    const { approvalId = '' } = request as { readonly approvalId?: string }
    const approval: ModelMessage = {
      role: 'tool',
      content: [{ type: 'tool-approval-response', approvalId, approved: true }],
    }
    await run([approval], 1) // not kept
    await live.keep(await run([approval], 5))
    expect(ran).toEqual(['Read', 'Read'])
    await live.keep(await run([{ role: 'user', content: 'Now write.' }], 5))
    expect(ran).toEqual(['Read', 'Read', 'Write'])
  })
})
