import { Agent, type AgentInputItem, type FunctionTool, RunContext, user } from '@openai/agents'
import {
  type OpenaiAgentsChat,
  type OpenaiAgentsState,
  openaiAgents,
} from '@skillstoke/adapters/openai-agents'
import { createSkillRuntime, MemorySource, type SkillRuntime } from '@skillstoke/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'

/** What a host does with its history before a turn. */
const CHANGES = ['nothing', 'restart', 'drop the start', 'drop the end', 'compact', 'compact itself'] as const
/** What a host does with a turn. Half of the turns have equal texts. */
const TURN = fc.record({
  change: fc.constantFrom(...CHANGES),
  at: fc.nat(),
  isEqual: fc.boolean(),
  isKept: fc.boolean(),
  steps: fc.array(fc.record({ edited: fc.option(fc.nat(5)), loaded: fc.option(fc.nat(5)) }), {
    minLength: 1,
    maxLength: 4,
  }),
})

/** A host that keeps the history of one conversation, without a model. */
class Host implements AsyncDisposable {
  readonly #source = new MemorySource({ label: 'mine' })
  readonly #skills: SkillRuntime
  readonly #live = new Set<string>()
  #chat: OpenaiAgentsChat
  #agent: Agent
  #history: AgentInputItem[] = []
  /** The last request of the history; empty if the history was changed since. */
  #sent: readonly string[] = []
  #serial = 0

  private constructor(skills: SkillRuntime, source: MemorySource) {
    this.#skills = skills
    this.#source = source
    ;[this.#chat, this.#agent] = this.#open()
  }

  static async create(): Promise<Host> {
    const source = new MemorySource({ label: 'mine' })
    return new Host(await createSkillRuntime({ sources: [source] }), source)
  }

  async turn({ change, at, isEqual, isKept, steps }: typeof TURN extends fc.Arbitrary<infer T> ? T : never) {
    await this.#change(change, at)
    const items = [...this.#history, user(isEqual ? 'Go on.' : `Question ${++this.#serial}.`)]
    let sent = this.#sent
    for (const { edited, loaded } of steps) {
      if (edited !== null) this.#edit(`skill-${edited}`)
      const request = await this.#request(items)
      expect(request.slice(0, sent.length)).toEqual(sent)
      sent = request
      items.push(...(await this.#call(loaded === null ? undefined : `skill-${loaded}`)))
    }
    items.push({ role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'Done.' }] })
    if (isKept) [this.#history, this.#sent] = [items, sent]
    else this.#sent = []
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#skills.close()
  }

  #open(resume?: OpenaiAgentsState): [OpenaiAgentsChat, Agent] {
    const chat = openaiAgents(this.#skills, { id: 'chat-1', ...(resume && { resume }) })
    return [chat, chat.agent(new Agent({ name: 'Helper' }))]
  }

  async #change(change: (typeof CHANGES)[number], at: number): Promise<void> {
    const starts = this.#history.flatMap((item, index) =>
      'role' in item && item.role === 'user' ? [index] : [],
    )
    const place = starts[at % (starts.length || 1)] ?? 0
    if (change === 'nothing') return
    if (change === 'restart') {
      ;[this.#chat, this.#agent] = this.#open(
        JSON.parse(JSON.stringify(this.#chat.state())) as OpenaiAgentsState,
      )
      return
    }
    this.#sent = []
    if (change === 'drop the start') this.#history = this.#history.slice(place)
    else if (change === 'drop the end') this.#history = this.#history.slice(0, place)
    else if (change === 'compact') this.#history = await this.#chat.compact(`Summary ${++this.#serial}.`)
    else this.#history = [{ type: 'compaction', encrypted_content: `${++this.#serial}` }, user('Kept.')]
  }

  #edit(name: string): void {
    if (this.#live.delete(name)) this.#source.remove(name)
    else {
      this.#live.add(name)
      this.#source.put({ name, description: 'Helps.', body: `The body of ${name}.` })
    }
  }

  /** Returns the next request as texts. The request names exactly the live skills, and contains each loaded skill. */
  async #request(items: AgentInputItem[]): Promise<readonly string[]> {
    const { callModelInputFilter } = this.#chat.options()
    const modelData = { input: structuredClone(items) }
    const { input, instructions = '' } = await callModelInputFilter({ modelData, agent: this.#agent })
    const known = new Set([...instructions.matchAll(/<name>([^<]+)/g)].map(([, name = '']) => name))
    const texts = input.map(item => JSON.stringify(item))
    for (const [, kind, name = ''] of texts.join().matchAll(/\\n- (added|removed): (skill-\d)/g))
      if (kind === 'added') known.add(name)
      else known.delete(name)
    expect([...known].sort()).toEqual([...this.#live].sort())
    for (const { name } of this.#chat.session.ledger.entries())
      expect(texts.join()).toContain(`The body of ${name}.`)
    return [instructions, ...texts]
  }

  /** Returns a tool call of the model, with its result. */
  async #call(skill: string | undefined): Promise<AgentInputItem[]> {
    const callId = `call_${++this.#serial}`
    const name = skill === undefined ? 'edit' : 'skill'
    const call = { type: 'function_call' as const, callId, name, arguments: JSON.stringify({ name: skill }) }
    const tool = this.#agent.tools.find((each): each is FunctionTool => each.name === name)
    const output = (await tool?.invoke(new RunContext(), call.arguments, { toolCall: call })) ?? 'Edited.'
    if (typeof output !== 'string') throw new Error('the skill tool must return a text')
    return [call, { type: 'function_call_result', callId, name, status: 'completed', output }]
  }
}

test('whatever the host does with its history, requests report every skill, keep loaded skills and keep their prefix', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(TURN, { minLength: 2, maxLength: 12 }), async turns => {
      await using host = await Host.create()
      for (const turn of turns) await host.turn(turn)
    }),
    { numRuns: 25, endOnFailure: true },
  )
})

test.each(['nothing', 'restart'] as const)(
  'after a hundred notices, requests keep their prefix: %s',
  async change => {
    await using host = await Host.create()
    for (let turn = 0; turn < 100; turn++) {
      const steps = [{ edited: turn % 6, loaded: turn % 20 === 0 ? 0 : null }]
      await host.turn({ change, at: 0, isEqual: false, isKept: true, steps })
    }
    const rest = [{ edited: 3, loaded: null }]
    await host.turn({ change: 'drop the start', at: 80, isEqual: false, isKept: true, steps: rest })
    await host.turn({ change: 'nothing', at: 0, isEqual: false, isKept: true, steps: rest })
  },
)
