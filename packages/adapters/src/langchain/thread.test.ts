import { createSkillRuntime, MemorySource, type SkillRuntime } from '@skillstoke/core'
import { beforeEach, describe, expect, test } from 'vitest'
import { type LangChainMiddleware, langchain } from '../langchain.ts'
import type { LangChainGraphState, LangChainMessage } from './messages.ts'
import type { LangChainUpdate } from './thread.ts'
import type { LangChainToolFactory } from './tools.ts'

interface Tool {
  readonly name: string
  readonly run: Parameters<LangChainToolFactory<Tool>>[0]
}

const NAMED = { description: 'Use on request.', body: 'Do it.' }
const z = { any: () => undefined, object: () => undefined }

let source: MemorySource
let skills: SkillRuntime
let live: LangChainMiddleware<Tool>
let steps: number
beforeEach(async () => {
  source = new MemorySource({ label: 'mine' }, [
    { ...NAMED, name: 'alpha' },
    { ...NAMED, name: 'maps' },
  ])
  skills = await createSkillRuntime({ sources: [source] })
  const tool: LangChainToolFactory<Tool> = (run, { name }) => ({
    name,
    run,
    invoke: () => Promise.resolve({}),
  })
  live = langchain(skills, { tool, z, allowedTools: 'enforce' })()
  steps = 0
  return async () => await skills.close()
})

// LangGraph gives each step of a graph a copy of the state, and its own task.
const copy = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value
const step = () => ({ configurable: { thread_id: 'chat-1', checkpoint_ns: `step:${++steps}` } })

const add = (state: LangChainGraphState, ...messages: LangChainMessage[]): LangChainGraphState => ({
  ...copy(state),
  messages: [...copy(state.messages), ...messages],
})
const ask = (state: LangChainGraphState, text: string) => add(state, { type: 'human', id: text, text })

function apply(state: LangChainGraphState, update: LangChainUpdate | undefined): LangChainGraphState {
  const { messages = [], ...others } = copy(update ?? {}) as Partial<LangChainGraphState>
  const notices = messages.map(message => ({ ...message, type: 'human', text: contentOf(message) }))
  return { ...add(state, ...notices), ...others }
}

const contentOf = (message: object): string => ('content' in message ? String(message.content) : '')

const begin = async (state: LangChainGraphState) => apply(state, await live.beforeAgent(state, step()))
const prepare = async (state: LangChainGraphState) => apply(state, await live.beforeModel(state, step()))

/** Returns the system text of a model call. */
async function system(state: LangChainGraphState, messages = state.messages): Promise<string> {
  let text = ''
  const systemMessage = { text, concat: (added: string) => (text = added) }
  const request = { state, messages, tools: live.tools, runtime: step(), systemMessage }
  await live.wrapModelCall(request, () => undefined)
  return text
}

async function load(state: LangChainGraphState, name: string, toolCallId: string): Promise<LangChainMessage> {
  const call = { ...step(), state: copy(state), toolCallId, writer: null }
  const [text, artifact] = (await live.tools[0]?.run({ name }, call)) ?? ['']
  return { type: 'tool', id: toolCallId, name: 'skill', tool_call_id: toolCallId, text, artifact }
}

const say = async (state: LangChainGraphState, text: string) => await prepare(await begin(ask(state, text)))
const lastOf = ({ messages }: LangChainGraphState): string => messages.at(-1)?.text ?? ''

describe('two overlapping runs of one thread', () => {
  let [first, head, one, two]: [string, ...LangChainGraphState[]] = ['']
  beforeEach(async () => {
    head = await say({ messages: [] }, 'Begin.')
    first = await system(head)
    head = apply(head, await live.afterAgent(head, step()))
    source.put({ ...NAMED, name: 'beta' })
    ;[one, two] = [await say(head, 'One.'), await say(head, 'Two.')]
    source.put({ ...NAMED, name: 'gamma' })
  })

  const OTHERS: Record<string, () => Promise<unknown>> = {
    'a tool': async () => await load(one as LangChainGraphState, 'alpha', 'call-1'),
    beforeModel: async () => await prepare(one as LangChainGraphState),
    wrapModelCall: async () => expect(await system(one as LangChainGraphState)).toBe(first),
    beforeAgent: async () => await begin(ask(head as LangChainGraphState, '/alpha')),
    afterAgent: async () => await live.afterAgent(one as LangChainGraphState, step()),
  }
  test.each(Object.keys(OTHERS))('keep their system texts and their notices beside %s', async other => {
    const told = add(two as LangChainGraphState)
    for (let ticks = 0; ticks < 12; ticks++) {
      const texts = Promise.all([system(told), prepare(told)])
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
      const [[text, next]] = await Promise.all([texts, OTHERS[other]?.()])
      expect(text).toBe(first)
      expect(lastOf(next).match(/added: \w+|you loaded/g)).toEqual(['added: gamma'])
    }
  })

  test('restrict only their own tools', async () => {
    source.put({ ...NAMED, name: 'strict', fields: { 'allowed-tools': 'Read' } })
    const mayEdit = async (state: LangChainGraphState, id: string): Promise<boolean> => {
      const calling = add(state, { type: 'ai', id })
      const request = { toolCall: { name: 'edit', args: {} }, state: calling, runtime: step() }
      return (await live.wrapToolCall?.(request, () => 'Edited.')) === 'Edited.'
    }
    one = await prepare(one as LangChainGraphState)
    two = await prepare(two as LangChainGraphState)
    const invoked = await say(one, '/strict')
    expect(await mayEdit(invoked, 'call-1')).toBe(false)
    const other = await begin(ask(invoked, 'Other.'))
    expect([await mayEdit(other, 'call-2'), await mayEdit(invoked, 'call-3')]).toEqual([true, false])
    const next = await say(two, 'Next.')
    const after = await begin(ask(next, 'After.'))
    await load(add(next, { type: 'ai', id: 'call-4' }), 'strict', 'call-4')
    expect([await mayEdit(next, 'call-4'), await mayEdit(after, 'call-5')]).toEqual([false, true])
  })

  test('start over one by one if other middleware shortens their requests', async () => {
    const runs = [one, two] as LangChainGraphState[]
    const texts: string[] = []
    for (const [index, run] of runs.entries()) {
      source.put({ ...NAMED, name: `new-${index}` })
      await skills.fresh()
      texts.push(await system(run, run.messages.slice(-2, -1)))
    }
    expect(texts.map(text => text.match(/(?<=<name>)new-\d/g))).toEqual([['new-0'], ['new-0', 'new-1']])
    for (const [index, run] of runs.entries()) expect(await system(await prepare(run))).toBe(texts[index])
    const other = await prepare(await begin(ask(head as LangChainGraphState, 'Three.')))
    expect(await system(other)).toBe(first)
  })

  test('record the skills that they load', async () => {
    for (let ticks = 0; ticks < 60; ticks++) {
      const call = load(one as LangChainGraphState, 'alpha', `call-${ticks}`)
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
      const [{ artifact }] = await Promise.all([call, prepare(two as LangChainGraphState)])
      expect(artifact).toMatchObject({ skillstoke: [{ kind: 'load', name: 'alpha' }] })
    }
  })
})

describe('notices that a compaction leaves in the messages', () => {
  /** Removes the first notice, as a host does that keeps the newest messages. */
  const trim = (state: LangChainGraphState): LangChainGraphState => {
    const cut = state.messages.findIndex(({ text }) => text?.includes('added: beta'))
    return { ...state, messages: state.messages.slice(cut + 1) }
  }

  test('are corrected if they are no longer true, and only then', async () => {
    let state = await say({ messages: [] }, 'Begin.')
    source.put({ ...NAMED, name: 'beta' })
    state = await say(state, 'Second.')
    state = add(state, await load(state, 'alpha', 'call-1'))
    source.remove('maps')
    source.put({ ...NAMED, name: 'gamma' })
    source.put({ ...NAMED, name: 'alpha', body: 'Do it twice.' })
    state = trim(await say(state, 'Third.'))
    expect(lastOf(state)).toMatch(/alpha at .*: load it again[\s\S]*removed: maps[\s\S]*added: gamma/)
    source.put({ ...NAMED, name: 'maps' })
    source.put({ ...NAMED, name: 'alpha' })
    state = await say(state, 'Fourth.')
    expect(await system(state)).toMatch(/alpha[\s\S]*beta[\s\S]*gamma[\s\S]*maps/)
    expect(lastOf(state).split('\n').slice(1, -1)).toEqual([
      expect.stringMatching(/^- you loaded alpha at (\w+); it is \1 again$/),
      '- added: maps: Use on request.',
    ])
    expect(lastOf(await say(state, 'Fifth.'))).toBe('Fifth.')
  })

  test('are followed by news of a skill that is gone, whose text is still there', async () => {
    let state = await say({ messages: [] }, 'Begin.')
    source.put({ ...NAMED, name: 'beta' })
    state = await say(state, 'Second.')
    state = trim(add(state, await load(state, 'alpha', 'call-1')))
    source.remove('alpha')
    state = await say(state, 'Third.')
    expect(await system(state)).not.toContain('alpha')
    expect(lastOf(state)).toContain('- removed: alpha\n')
    source.put({ ...NAMED, name: 'alpha', body: 'Do it twice.' })
    expect(lastOf(await say(state, 'Fourth.'))).toMatch(/alpha at .*: load it again[\s\S]*- added: alpha/)
  })
})
