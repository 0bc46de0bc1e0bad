import { aiSdk } from '@skillstoke/adapters/ai-sdk'
import { openaiChatLoop } from '@skillstoke/adapters/loop'
import { createOfflineModel } from '@skillstoke/agent'
import { generateText, jsonSchema, type ModelMessage, stepCountIs, streamText, tool } from 'ai'
import { expect, test } from 'vitest'
import { OpenAiServer } from './fixtures/openai-server.ts'
import type { ReceivedSpan } from './fixtures/otlp-receiver.ts'
import { type ScriptedAnswer, ScriptedModel } from './fixtures/scripted-model.ts'
import { openTracedSkills, type TracedSkills } from './fixtures/traced-skills.ts'

const refund = (days: number) => ({
  name: 'refund',
  description: 'Use for refunds.',
  body: `Refunds take ${days} days.`,
})

/** Returns the attributes of a span that Skillstoke sets. */
function ofSkills({ attributes }: ReceivedSpan): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(attributes).filter(
      ([name]) => name.startsWith('skillstoke.') || name === 'gen_ai.conversation.id',
    ),
  )
}

function named(spans: readonly ReceivedSpan[], name: RegExp): readonly ReceivedSpan[] {
  return spans.filter(span => name.test(span.name))
}

/** Runs two turns of the AI SDK, the second one after an edit and as a stream. Returns the revisions before and after. */
async function runAiSdk(traced: TracedSkills): Promise<readonly string[]> {
  const { source, skills, integration } = traced
  const model = createOfflineModel()
  const stopWhen = stepCountIs(20)
  const telemetry = { integrations: [integration] }
  using chat = aiSdk<ModelMessage>(skills, { id: 'chat-1' })
  source.put(refund(30))
  await skills.fresh()
  const { revision: first } = skills.current.get('refund')
  await traced.inSpan('turn 1', {}, async () => {
    const call = await chat.turn('Use the skill "refund".')
    await chat.keep(await generateText({ model, ...call, stopWhen, telemetry }))
  })
  source.put(refund(14))
  await traced.inSpan('turn 2', {}, async () => {
    const call = await chat.turn('Use the skill "refund".')
    await chat.keep(streamText({ model, ...call, stopWhen, telemetry }))
  })
  return [first, skills.current.get('refund').revision]
}

test('with the AI SDK, each span of a model call has the revisions that the model had at this call', async () => {
  await using traced = await openTracedSkills()
  const [first, second] = await runAiSdk(traced)
  const spans = await traced.received()
  const calls = named(spans, /^chat /)
  const conversation = { 'gen_ai.conversation.id': 'chat-1', 'skillstoke.prefix.kept': true }
  const silent = { 'skillstoke.notice.tokens': 0, 'skillstoke.notice.skills': [] }
  const notice = { 'skillstoke.notice.tokens': expect.any(Number), 'skillstoke.notice.skills': ['refund'] }
  expect(calls.map(ofSkills)).toMatchObject([
    { ...conversation, ...notice, 'skillstoke.skills': [] },
    { ...conversation, ...silent, 'skillstoke.skills': [`refund@${first}`] },
    { ...conversation, ...notice, 'skillstoke.skills': [`refund@${first}`] },
    { ...conversation, ...silent, 'skillstoke.skills': [`refund@${second}`] },
  ])
  const [before, , after] = calls.map(({ attributes }) => attributes)
  expect(after?.['skillstoke.notice.tokens']).toBeGreaterThan(0)
  expect(after?.['skillstoke.generation']).toBe(Number(before?.['skillstoke.generation']) + 1)
  expect(after?.['skillstoke.generation.digest']).not.toBe(before?.['skillstoke.generation.digest'])
  const tools = named(spans, /^execute_tool/)
  expect(tools.map(ofSkills)).toEqual([
    { 'skillstoke.skill': 'refund', 'skillstoke.revision': first },
    { 'skillstoke.skill': 'refund', 'skillstoke.revision': second },
  ])
  expect(tools.map(({ events }) => events[0]?.name)).toEqual(['skill.used', 'skill.used'])
  const [, last, , newest] = calls.map(ofSkills)
  expect(named(spans, /^turn/).map(ofSkills)).toEqual([last, newest])
  const others = spans.filter(span => !/^(chat|execute_tool|turn) /.test(span.name))
  expect(others.filter(span => Object.keys(ofSkills(span)).length > 0)).toEqual([])
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(2)
})

test('each of three conversations at the same time has its own attributes', async () => {
  await using traced = await openTracedSkills()
  const { source, skills, integration } = traced
  source.put(refund(30))
  const ids = ['chat-1', 'chat-2', 'chat-3']
  await Promise.all(
    ids.map(async id => {
      using chat = aiSdk<ModelMessage>(skills, { id })
      await traced.inSpan(`turn ${id}`, {}, async () => {
        const call = await chat.turn('Hello.')
        const telemetry = { integrations: [integration] }
        await chat.keep(await generateText({ model: createOfflineModel(), ...call, telemetry }))
      })
    }),
  )
  const spans = await traced.received()
  const traces = new Map(named(spans, /^turn/).map(({ traceId, name }) => [traceId, name]))
  const calls = named(spans, /^chat /)
  expect(new Set(calls.map(({ traceId }) => traces.get(traceId)))).toEqual(
    new Set(ids.map(id => `turn ${id}`)),
  )
  for (const { traceId, attributes } of calls)
    expect(traces.get(traceId)).toBe(`turn ${String(attributes['gen_ai.conversation.id'])}`)
})

test('a conversation inside a tool call has its own attributes, and those of the outer one stay', async () => {
  await using traced = await openTracedSkills()
  const { source, skills, integration } = traced
  source.put(refund(30))
  const telemetry = { integrations: [integration] }
  using outer = aiSdk<ModelMessage>(skills, { id: 'outer' })
  const delegate = tool({
    inputSchema: jsonSchema({ type: 'object', properties: {} }),
    async execute() {
      using inner = outer.child({ id: 'inner' })
      const call = await inner.turn('Use the skill "refund".')
      const settings = { model: createOfflineModel(), stopWhen: stepCountIs(20), telemetry }
      return (await generateText({ ...call, ...settings })).text
    },
  })
  const calls: readonly ScriptedAnswer[] = [{ tool: 'delegate', input: {} }, { text: 'Done.' }]
  const model = new ScriptedModel(call => calls[call - 1] ?? { text: 'Done.' })
  await traced.inSpan('turn', {}, async () => {
    const call = await outer.turn('Delegate it.', { tools: { delegate } })
    await outer.keep(await generateText({ model, ...call, stopWhen: stepCountIs(20), telemetry }))
  })
  const ids = named(await traced.received(), /^chat /).map(({ name, attributes }) => [
    name,
    attributes['gen_ai.conversation.id'],
  ])
  expect(ids).toEqual([
    ['chat scripted', 'outer'],
    ['chat offline', 'inner'],
    ['chat offline', 'inner'],
    ['chat scripted', 'outer'],
  ])
})

test('a plain loop without spans gets a span for each model call', async () => {
  await using traced = await openTracedSkills()
  await using server = await OpenAiServer.start(() => ({ kind: 'text', text: 'Good.' }))
  traced.source.put(refund(30))
  await traced.skills.fresh()
  using chat = openaiChatLoop(traced.skills, { id: 'chat-1' })
  const { revision } = traced.skills.current.get('refund')
  const ask = async (prompt: string): Promise<void> => {
    const turn = await chat.turn(prompt)
    const { messages } = await turn.request()
    const body = JSON.stringify({ model: 'test', messages })
    const response = await fetch(`${server.baseUrl}/chat/completions`, { method: 'POST', body })
    await turn.answer((await response.json()) as never)
    turn.keep()
  }
  await ask('Hello.')
  await ask('/refund')
  await chat.compact('They said hello.')
  await ask('Go on.')
  const spans = await traced.received()
  const loaded = { 'gen_ai.conversation.id': 'chat-1', 'skillstoke.skills': [`refund@${revision}`] }
  expect(spans.map(({ name, attributes }) => ({ name, ...attributes }))).toMatchObject([
    { 'gen_ai.operation.name': 'offer_skills', 'skillstoke.skills': [], 'skillstoke.prefix.kept': true },
    { ...loaded, 'skillstoke.prefix.kept': true },
    { ...loaded, 'skillstoke.prefix.kept': false },
  ])
  expect(spans.every(({ name }) => name === 'offer_skills skillstoke')).toBe(true)
  expect(server.requests).toHaveLength(3)
})

test('a plain loop that has its own span around a model call gets the attributes there', async () => {
  await using traced = await openTracedSkills()
  await using server = await OpenAiServer.start(() => ({ kind: 'text', text: 'Good.' }))
  traced.source.put(refund(30))
  using chat = openaiChatLoop(traced.skills, { id: 'chat-1' })
  const turn = await chat.turn('Hello.')
  await traced.inSpan('chat test', { 'gen_ai.operation.name': 'chat' }, async () => {
    const { messages } = await turn.request()
    const body = JSON.stringify({ model: 'test', messages })
    const response = await fetch(`${server.baseUrl}/chat/completions`, { method: 'POST', body })
    await turn.answer((await response.json()) as never)
  })
  turn.keep()
  const spans = await traced.received()
  expect(spans.map(({ name }) => name)).toEqual(['chat test'])
  expect(spans[0]?.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.conversation.id': 'chat-1',
    'skillstoke.notice.skills': ['refund'],
  })
})
