import { createSkillRuntime, MemorySource, type SkillRuntime } from '@skillstoke/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ScriptedAnswer, ScriptedModel } from '../../../tests/fixtures/scripted-model.ts'
import { Conversation } from './conversation.ts'
import { MemoryConversationStore } from './memory-conversation-store.ts'
import { SkillAgent, type SkillAgentOptions } from './skill-agent.ts'
import type { TurnTrace } from './trace-turn.ts'

const LOAD: ScriptedAnswer = { tool: 'skill', input: { name: 'refund' } }
const DONE: ScriptedAnswer = { text: 'Done.' }

let source: MemorySource
let skills: SkillRuntime
let store: MemoryConversationStore

beforeEach(async () => {
  source = new MemorySource({ label: 'mine' })
  writeSkill('Use form ONE.')
  skills = await createSkillRuntime({ sources: [source] })
  store = new MemoryConversationStore()
})
afterEach(async () => await skills.close())

function writeSkill(body: string): void {
  source.put({ name: 'refund', description: 'Refunds an order.', body })
}

function open(
  answers: readonly (ScriptedAnswer | Error)[],
  options: Partial<SkillAgentOptions> = {},
): Conversation {
  const model = new ScriptedModel(call => {
    const answer = answers[call - 1] ?? DONE
    if (answer instanceof Error) throw answer
    return answer
  })
  return new SkillAgent({ skills, model, store, maxRetries: 0, ...options }).conversation('chat')
}

const trace = async (turn?: number): Promise<TurnTrace> =>
  await Conversation.trace(store, 'local', 'chat', turn)
const kindsOf = ({ steps }: TurnTrace): readonly string[] => steps.map(({ kind }) => kind)
const revision = (): string => skills.current.get('refund').revision
/** Returns the number of turns, the question and the kinds of the steps. */
const outline = (found: TurnTrace): readonly unknown[] => [found.turns, found.question, ...kindsOf(found)]

test('trace() shows the notice, and the revision that the model had before and after it loaded the new one', async () => {
  const chat = open([LOAD, DONE, LOAD, DONE])
  await chat.send('The first question.')
  const first = revision()
  writeSkill('Use form TWO.')
  await chat.send('The second question.')
  const second = revision()
  const { number: generation, digest } = skills.current
  const told = { generation, digest }
  const use = { kind: 'skill-use', callId: 'call-3', tool: 'skill', skill: 'refund', revision: second }
  const loaded = { name: 'refund', revision: second, toldRevision: second }
  expect(await trace()).toMatchObject({
    turn: 2,
    turns: 2,
    question: 'The second question.',
    steps: [
      { kind: 'notice', ...told, text: expect.stringContaining('you loaded refund') },
      { kind: 'model-call', ...told, skills: [{ name: 'refund', revision: first, toldRevision: second }] },
      use,
      { kind: 'model-call', ...told, skills: [loaded], text: 'Done.' },
    ],
  })
  const earlier = await trace(1)
  expect(kindsOf(earlier)).toEqual(['model-call', 'skill-use', 'model-call'])
  expect(earlier.steps[0]).toMatchObject({ generation: generation - 1, skills: [] })
})

test('trace() shows a skill that the user invoked in the first model call', async () => {
  await open([DONE]).send('/refund 1042')
  expect(await trace()).toMatchObject({
    turns: 1,
    question: expect.stringContaining('Use form ONE.'),
    steps: [{ kind: 'model-call', skills: [{ name: 'refund', revision: revision() }] }],
  })
})

test('trace() counts a question that a compaction repeats only once, and each of its answers only once', async () => {
  const chat = open([DONE, { text: 'A summary.' }, LOAD, { text: 'A summary.' }, DONE], {
    compactAtTokens: 1,
  })
  await chat.send('The first question.')
  await chat.send('/refund 1042')
  expect(outline(await trace(1))).toEqual([2, 'The first question.', 'model-call'])
  expect(kindsOf(await trace(2))).toEqual(['model-call', 'skill-use', 'model-call'])
})

test('trace() begins a new turn with a question right after a compaction', async () => {
  const chat = open([])
  await chat.send('Hello.')
  await chat.compact({ summarize: () => 'A summary.' })
  await chat.send('Hello.')
  expect(outline(await trace())).toEqual([2, 'Hello.', 'model-call'])
})

test('trace() shows a failed turn without an answer, and the retry in the same turn', async () => {
  const chat = open([new Error('overloaded')])
  await expect(chat.send('Hello.')).rejects.toThrow('overloaded')
  expect(outline(await trace())).toEqual([1, 'Hello.'])
  await chat.send({ retry: true })
  expect(outline(await trace())).toEqual([1, 'Hello.', 'model-call'])
})

test('trace() refuses a turn that does not exist', async () => {
  await expect(trace()).rejects.toThrow('the conversation "chat" has no turns')
  await open([]).send('Hello.')
  for (const turn of [0, 2, 1.5])
    await expect(trace(turn)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: `the conversation "chat" has no turn ${turn}; the number of its turns is 1`,
    })
})
