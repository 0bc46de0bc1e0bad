import { createSkillRuntime, MemorySource, type SkillRuntime } from '@skillstoke/core'
import { NO_SETTLE } from '@skillstoke/core/source'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AiSdkChat, aiSdk } from '../ai-sdk.ts'
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
  const output = await sent.call.tools['skill']?.execute({ name }, { toolCallId })
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
