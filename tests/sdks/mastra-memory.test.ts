import { createOpenAI } from '@ai-sdk/openai-3'
import type { Agent } from '@mastra/core/agent'
import { TokenLimiter } from '@mastra/core/processors'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { MastraProcess, say } from './mastra.ts'
import { addedText, countBrokenPrefixes, type ModelRequest, type Reply } from './model-server.ts'
import { World } from './world.ts'

const DONE: Reply = { kind: 'text', text: 'Done.' }
const EDIT: Reply = { kind: 'call', name: 'edit', input: {} }
const LOAD: Reply = { kind: 'call', name: 'skill', input: { name: 'refund' } }
const LIVE = 'Refunds need form TWO.'

let world: World
beforeEach(async () => {
  world = await World.open()
})
afterEach(async () => await world[Symbol.asyncDispose]())

const last = (): ModelRequest => world.server.requests.at(-1) ?? expect.unreachable('no request')
const count = (text: string): number => last().text.split(text).length - 1
const editRefund = (): void => void world.folder.writeSkill('refund', { body: LIVE })
const addMaps = (): void => void world.folder.writeSkill('maps')

async function play(agent: Agent, text: string, ...replies: readonly Reply[]): Promise<void> {
  world.server.play(...replies)
  await say(agent, 'chat-1', text)
}

describe('mastra() continues a thread', () => {
  test('each turn runs in a new process, and every request begins with the previous request', async () => {
    for (const turn of [1, 2, 3]) {
      await using process = await MastraProcess.start(world)
      world.prepare(() => {
        world.folder.writeSkill('refund', { body: `Refunds need form ${turn}.` })
        world.folder.writeSkill(`maps-${turn}`)
      })
      await play(process.createAgent(), `Turn ${turn}.`, LOAD, EDIT, LOAD, EDIT, DONE)
    }
    expect(world.server.requests).toHaveLength(15)
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
    for (const turn of [1, 2, 3]) expect(count(`added: maps-${turn}`)).toBe(1)
    expect(count('it is now')).toBe(3)
  })

  test('the user deletes the last messages, and the model gets the lost notices again', async () => {
    await using process = await MastraProcess.start(world)
    const agent = process.createAgent()
    await play(agent, 'One.', DONE)
    world.prepare(addMaps)
    await play(agent, 'Two.', LOAD, EDIT, DONE)
    const { messages } = await process.memory.recall({
      threadId: 'chat-1',
      perPage: false,
      hideSignals: false,
    })
    await process.memory.deleteMessages(messages.slice(2).map(({ id }) => id))
    editRefund()
    await play(agent, 'Three.', DONE)
    expect(count('added: maps')).toBe(1)
    expect(count('you loaded refund')).toBe(0)
    expect(addedText(world.server.requests[0], last())).toMatch(/Three\.[\s\S]*added: maps/)
  })

  test('the user deletes a notice between other messages, and the model gets it again', async () => {
    await using process = await MastraProcess.start(world)
    const agent = process.createAgent()
    world.prepare(addMaps)
    await play(agent, 'One.', EDIT, DONE)
    world.prepare(() => world.folder.remove('orders'))
    await play(agent, 'Two.', EDIT, DONE)
    const { messages } = await process.memory.recall({
      threadId: 'chat-1',
      perPage: false,
      hideSignals: false,
    })
    const notice = messages.find(({ role }) => role === 'signal') ?? expect.unreachable('no notice')
    await process.memory.deleteMessages([notice.id])
    await play(agent, 'Three.', DONE)
    expect([count('added: maps'), count('removed: orders')]).toEqual([1, 1])
    expect(last().parts[1]).toBe(world.server.requests[0]?.parts[1])
  })

  test('the user clears the thread, and the conversation starts with a new catalog', async () => {
    await using process = await MastraProcess.start(world)
    const agent = process.createAgent()
    await play(agent, 'One.', LOAD, DONE)
    await process.memory.deleteThread('chat-1')
    addMaps()
    editRefund()
    await play(agent, 'Two.', DONE)
    expect(last().parts[1]).toContain('<name>maps</name>')
    expect(last().text).not.toMatch(/added: maps|you loaded|loaded_skills/)
  })

  test('delivery: rebuild puts changes into the system text, also after a restart', async () => {
    for (const turn of [1, 2]) {
      await using process = await MastraProcess.start(world, { delivery: 'rebuild' })
      world.prepare(() => void world.folder.writeSkill(`maps-${turn}`))
      await play(process.createAgent(), `Turn ${turn}.`, EDIT, DONE)
      expect(last().parts.find(part => part.includes('<available_skills>'))).toContain(
        `<name>maps-${turn}</name>`,
      )
    }
    expect(count('added: maps')).toBe(0)
  })
})

describe('mastra() after a compaction by Mastra', () => {
  test('lastMessages drops the loaded skill, and the next process sends its newest revision once', async () => {
    for (const turn of [1, 2, 3, 4, 5, 6]) {
      await using process = await MastraProcess.start(world, {}, { lastMessages: 4 })
      if (turn === 2) editRefund()
      await play(process.createAgent(), `Turn ${turn}.`, ...(turn === 1 ? [LOAD, DONE] : [DONE]))
      if (turn > 2) expect(count(LIVE)).toBe(1)
      if (turn > 3) expect(count('form ONE')).toBe(0)
    }
  })

  test('a loaded skill that lastMessages keeps is not sent again, and its changes are still reported', async () => {
    await using process = await MastraProcess.start(world, {}, { lastMessages: 3 })
    const agent = process.createAgent()
    await play(agent, 'Turn 1.', LOAD, DONE)
    await play(agent, 'Turn 2.', DONE)
    world.prepare(editRefund)
    await play(agent, 'Turn 3.', EDIT, DONE)
    expect(last().text).not.toContain('Turn 1.')
    expect(count('Refunds need form ONE.')).toBe(1)
    expect(count('you loaded refund')).toBe(1)
  })

  test('a skill that was loaded twice is still there after the first answer is gone', async () => {
    await using process = await MastraProcess.start(world, {}, { lastMessages: 3 })
    const agent = process.createAgent()
    await play(agent, 'Turn 1.', LOAD, DONE)
    await play(agent, 'Turn 2.', LOAD, DONE)
    await play(agent, 'Turn 3.', DONE)
    await play(agent, 'Turn 4.', DONE)
    expect(last().text).not.toContain('Turn 2.')
    expect(count('Refunds need form ONE.')).toBe(1)
  })

  test('messageHistory removes messages in a running loop, and the skill comes back before the next call', async () => {
    world.folder.writeSkill('refund', { body: `Refunds need form ONE. ${'word '.repeat(150)}` })
    const messageHistory = { maxTokens: 650, atMaxRemoveTokens: 200 }
    await using process = await MastraProcess.start(world, {}, { messageHistory })
    const agent = process.createAgent()
    await play(agent, 'Turn 1.', LOAD, DONE)
    for (const turn of [2, 3, 4]) await play(agent, `Turn ${turn}. ${'filler '.repeat(80)}`, EDIT, DONE)
    expect(last().text).not.toContain('Turn 2.')
    expect(count('Refunds need form ONE.')).toBe(1)
  })

  test('a token limiter cuts the prompt, and the next call has the skill again', async () => {
    world.folder.writeSkill('refund', { body: `Refunds need form ONE. ${'word '.repeat(150)}` })
    await using process = await MastraProcess.start(world)
    const limiter = new TokenLimiter({ limit: 510, trimMode: 'contiguous' })
    const agent = process.createAgent({ inputProcessors: [limiter, process.live.processor] })
    await play(agent, 'Turn 1.', LOAD, DONE)
    await play(agent, `Turn 2. ${'filler '.repeat(80)}`, EDIT, DONE)
    await play(agent, `Turn 3. ${'filler '.repeat(80)}`, EDIT, DONE)
    const [cut] = world.server.requests.slice(-2)
    expect(cut?.text).not.toContain('Refunds need form ONE.')
    expect(count('Refunds need form ONE.')).toBe(1)
  })

  test('a token limiter without room for the skill causes at most one new start in each run', async () => {
    world.folder.writeSkill('refund', { body: `Refunds need form ONE. ${'word '.repeat(400)}` })
    await using process = await MastraProcess.start(world)
    await play(process.createAgent(), 'Turn 1.', LOAD, DONE)
    const inputProcessors = [new TokenLimiter(400), process.live.processor]
    await play(process.createAgent({ inputProcessors }), 'Turn 2.', EDIT, EDIT, EDIT, EDIT, DONE)
    const { messages } = await process.memory.recall({
      threadId: 'chat-1',
      perPage: false,
      hideSignals: false,
    })
    expect(messages.filter(({ type }) => type === 'loaded_skills')).toHaveLength(1)
  })

  test('observational memory replaces the messages, and the skill comes back at its newest revision', async () => {
    const model = createOpenAI({ baseURL: `${world.server.url}/v1`, apiKey: 'none' }).chat('test-model')
    const observation = { messageTokens: 300, bufferTokens: false } as const
    const observationalMemory = { model, observation, reflection: { observationTokens: 20_000 } }
    await using process = await MastraProcess.start(world, {}, { observationalMemory })
    const agent = process.createAgent()
    await play(agent, 'Turn 1.', LOAD, DONE)
    await play(agent, `Turn 2. ${'filler '.repeat(80)}`, EDIT, DONE)
    editRefund()
    addMaps()
    for (const turn of [3, 4, 5, 6]) {
      await play(agent, `Turn ${turn}. ${'filler '.repeat(80)}`, EDIT, DONE)
      expect(last().text).not.toMatch(/Turn 1\.|form ONE/)
      expect(count(LIVE)).toBe(1)
      expect(last().parts[1]).toContain('<name>maps</name>')
    }
    expect(world.server.asides.length).toBeGreaterThan(1)
  })
})

describe('mastra().compact()', () => {
  test('the code in a restored skill is not escaped, and a restart keeps the bytes', async () => {
    world.folder.writeSkill('refund', { body: 'Run `a < b && c > d`.' })
    {
      await using process = await MastraProcess.start(world)
      const agent = process.createAgent()
      await play(agent, 'One.', LOAD, DONE)
      await process.live.compact(process.memory, 'chat-1', 'A summary.')
      world.server.requests.splice(0)
      await play(agent, 'Two.', DONE)
    }
    await using process = await MastraProcess.start(world)
    await play(process.createAgent(), 'Three.', DONE)
    expect(count('Run `a < b && c > d`.')).toBe(1)
    expect(last().text).toMatch(/A summary\.[\s\S]*Two\.[\s\S]*Three\./)
    expect(last().text).not.toContain('One.')
    expect(countBrokenPrefixes(world.server.requests)).toBe(0)
  })

  test('skills that exceed the cap do not come back, and do not count as loaded', async () => {
    await using process = await MastraProcess.start(world, { rebase: { maxTokens: 0 } })
    const agent = process.createAgent()
    await play(agent, 'One.', LOAD, DONE)
    await process.live.compact(process.memory, 'chat-1', 'A summary.')
    editRefund()
    await play(agent, 'Two.', DONE)
    expect(last().text).not.toMatch(/form ONE|form TWO|you loaded refund/)
  })

  test('an empty thread stays empty', async () => {
    await using process = await MastraProcess.start(world)
    await process.live.compact(process.memory, 'chat-1', 'A summary.')
    await play(process.createAgent(), 'One.', DONE)
    expect(last().text).not.toContain('A summary.')
  })
})
