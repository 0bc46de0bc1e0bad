import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSkillRuntime, type SkillRuntime } from '@skillstoke/core'
import { FileSource, MemoryFileSystem, NO_SETTLE } from '@skillstoke/core/source'
import { verifies } from '@skillstoke/requirements'
import { dynamicTool, jsonSchema } from 'ai'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ScriptedModel } from '../../../tests/fixtures/scripted-model.ts'
import { skillText } from '../../../tests/fixtures/skill-folder.ts'
import type { AgentEvent } from './agent-event.ts'
import { MemoryConversationStore } from './memory-conversation-store.ts'
import { createOfflineModel } from './offline-model.ts'
import { openConversationStore } from './open-conversation-store.ts'
import type { PrefixReading } from './prefix-meter.ts'
import { SkillAgent } from './skill-agent.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'resume-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function open(fileSystem: MemoryFileSystem): Promise<SkillRuntime> {
  const source = new FileSource({ fileSystem, root: '/skills', label: 'skills', writable: fileSystem })
  return await createSkillRuntime({ sources: [source], tuning: { settle: NO_SETTLE } })
}

const textOf = (request: ScriptedModel['requests'][number] | undefined): string =>
  JSON.stringify(request?.prompt)
const systemOf = (request: ScriptedModel['requests'][number] | undefined): string =>
  request?.prompt.flatMap(message => (message.role === 'system' ? message.content : [])).join('\n') ?? ''

describe('SkillAgent.open()', () => {
  /** Starts a conversation in one process, changes the skills, and continues the conversation in another process. */
  async function continueIn(delivery: 'append' | 'rebuild'): Promise<{
    readonly first: ScriptedModel['requests'][number] | undefined
    readonly request: ScriptedModel['requests'][number] | undefined
    readonly prefix: PrefixReading
    readonly before: readonly unknown[]
    readonly after: readonly unknown[]
  }> {
    const files = new MemoryFileSystem({
      '/skills/refund/SKILL.md': skillText('refund', { body: 'Within 30 days.' }),
      '/skills/old/SKILL.md': skillText('old'),
    })
    const path = join(folder, 'conversations.sqlite')
    const readRows = async (): Promise<readonly unknown[]> => {
      await using store = await openConversationStore(path)
      return await store.read('local', 'chat')
    }
    const earlier = new ScriptedModel(call =>
      call === 1 ? { tool: 'skill', input: { name: 'refund' } } : { text: 'Within 30 days.' },
    )
    {
      await using skills = await open(files)
      await using store = await openConversationStore(path)
      await new SkillAgent({ skills, model: earlier, store, delivery }).conversation('chat').send('May I?')
    }
    const before = await readRows()
    files.write('/skills/refund/SKILL.md', skillText('refund', { body: 'Within 60 days.' }))
    files.write('/skills/new/SKILL.md', skillText('new'))
    files.remove('/skills/old')
    await using skills = await open(files)
    await using store = await openConversationStore(path)
    const model = new ScriptedModel(() => ({ text: 'Now 60.' }))
    const agent = new SkillAgent({ skills, model, store, delivery })
    const conversation = await agent.open('chat')
    expect(await agent.open('chat')).toBe(conversation)
    const prefix = conversation.comparePrefix()
    await conversation.send('And now?')
    return {
      first: earlier.requests.at(-1),
      request: model.requests[0],
      prefix,
      before,
      after: await readRows(),
    }
  }

  test(`continues a conversation in another process with an unchanged prefix and a notice of the changes ${verifies('FOX-06', 'PROMISE-6')}`, async () => {
    const { first, request, prefix, before, after } = await continueIn('append')
    expect(first && request && ScriptedModel.toParts(request).slice(0, first.prompt.length + 1)).toEqual(
      first && ScriptedModel.toParts(first),
    )
    expect(prefix).toMatchObject({ isUnchanged: true, last: expect.any(String) })
    expect(request?.prompt.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
      'user',
    ])
    const told = JSON.stringify(request?.prompt.at(-1))
    for (const line of ['you loaded refund at', '- removed: old', '- added: new'])
      expect(told).toContain(line)
    expect(after.slice(0, before.length)).toEqual(before)
  })

  test(`when delivery is "rebuild", continues with the current system text and the unchanged messages ${verifies('FOX-06', 'FOX-07', 'FOX-X03', 'P16')}`, async () => {
    const { request, before, after } = await continueIn('rebuild')
    expect(systemOf(request)).toContain('<name>new</name>')
    expect(systemOf(request)).not.toContain('<name>old</name>')
    expect(textOf(request)).toContain('Within 30 days.')
    expect(JSON.stringify(request?.prompt.at(-1))).toContain('you loaded refund at')
    expect(after.slice(0, before.length)).toEqual(before)
    expect(JSON.stringify(before[0])).toContain('<name>old</name>')
    expect(JSON.stringify(after).match(/"role":"system"/g)).toHaveLength(1)
  })

  test('if the instructions of the agent changed, reports a changed prefix and stores the new system text', async () => {
    const files = new MemoryFileSystem({ '/skills/refund/SKILL.md': skillText('refund') })
    await using skills = await open(files)
    const store = new MemoryConversationStore()
    const model = new ScriptedModel(() => ({ text: 'Yes.' }))
    {
      using conversation = new SkillAgent({ skills, model, store }).conversation('chat')
      await conversation.send('First.')
    }
    const agent = new SkillAgent({ skills, model, store, instructions: 'You are brief.' })
    const conversation = await agent.open('chat')
    expect(conversation.comparePrefix().isUnchanged).toBe(false)
    await conversation.send('Second.')
    const systems = (await store.read('local', 'chat')).filter(({ role }) => role === 'system')
    expect(systems.map(({ seq, content }) => [seq, String(content).split('\n')[0]])).toEqual([
      [1, 'You are a helpful assistant.'],
      [4, 'You are brief.'],
    ])
    expect(systemOf(model.requests[1])).toBe(systems[1]?.content)
  })

  test('starts a conversation if no message is stored, and continues stored messages even if no session state is stored', async () => {
    const files = new MemoryFileSystem({ '/skills/refund/SKILL.md': skillText('refund') })
    await using skills = await open(files)
    const store = new MemoryConversationStore()
    await store.append('local', 'plain', 0, [{ id: 'a', role: 'user', content: 'hello', at: 0 }])
    const model = new ScriptedModel(() => ({ text: 'Hi.' }))
    const agent = new SkillAgent({ skills, model, store })
    await (await agent.open('plain')).send('again')
    await (await agent.open('none')).send('first')
    expect(model.requests.map(({ prompt }) => prompt.length)).toEqual([3, 2])
  })
})

describe('notices of a conversation', () => {
  /** Creates a conversation whose next model call contains a notice. The model fails until `repair` is called. */
  async function failing(): Promise<{
    readonly files: MemoryFileSystem
    readonly skills: SkillRuntime
    readonly store: MemoryConversationStore
    readonly model: ScriptedModel
    readonly agent: SkillAgent
    readonly repair: () => void
  }> {
    const files = new MemoryFileSystem({ '/skills/refund/SKILL.md': skillText('refund') })
    const skills = await open(files)
    const store = new MemoryConversationStore()
    let isBroken = true
    const model = new ScriptedModel(() => {
      if (isBroken) throw new Error('the model failed')
      return { text: 'Yes.' }
    })
    const agent = new SkillAgent({ skills, model, store, maxRetries: 0 })
    agent.conversation('chat')
    files.write('/skills/tone/SKILL.md', skillText('tone'))
    return { files, skills, store, model, agent, repair: () => (isBroken = false) }
  }

  const count = (request: ScriptedModel['requests'][number] | undefined): number =>
    textOf(request).split('- added: tone').length - 1

  test('a notice that was sent with a failed model call appears exactly once in later prompts, in this process and in the next process', async () => {
    const { files, skills, store, model, agent, repair } = await failing()
    await expect(agent.conversation('chat').send('One.')).rejects.toThrow('the model failed')
    const state = await store.readSession('local', 'chat')
    expect(state?.announced.map(([name]) => name)).toEqual(['refund', 'tone'])
    repair()
    await agent.conversation('chat').send('Two.')
    expect(count(model.requests.at(-1))).toBe(1)
    await skills.close()
    await using later = await open(files)
    const other = new ScriptedModel(() => ({ text: 'Yes.' }))
    await (await new SkillAgent({ skills: later, model: other, store }).open('chat')).send('Three.')
    expect(count(other.requests[0])).toBe(1)
  })

  test.each(['skills-updated', 'model-call'] as const)(
    'if the caller stops reading the events of a turn at %s, the notice is sent only once',
    async kind => {
      const { skills, model, agent, repair } = await failing()
      for await (const event of agent.conversation('chat').stream('One.')) if (event.kind === kind) break
      repair()
      await agent.conversation('chat').send('Two.')
      expect(count(model.requests.at(-1))).toBe(1)
      await skills.close()
    },
  )

  test('if the turn is aborted before the model call, the notice is sent only once', async () => {
    const { skills, model, agent, repair } = await failing()
    const controller = new AbortController()
    const turn = (async () => {
      for await (const event of agent.conversation('chat').stream('One.', { signal: controller.signal }))
        if (event.kind === 'skills-updated') controller.abort(new Error('enough'))
    })()
    await expect(turn).rejects.toThrow()
    repair()
    await agent.conversation('chat').send('Two.')
    expect(count(model.requests.at(-1))).toBe(1)
    await skills.close()
  })

  test('a notice that could not be stored is omitted from the history and sent with the next model call', async () => {
    const { skills, store, model, agent, repair } = await failing()
    repair()
    const append = store.append.bind(store)
    store.append = async (...args) => {
      if (JSON.stringify(args[3]).includes('skills_update')) throw new Error('disk full')
      return await append(...args)
    }
    const conversation = agent.conversation('chat')
    await expect(conversation.send('One.')).rejects.toThrow('disk full')
    expect(JSON.stringify(conversation.messages)).not.toContain('skills_update')
    store.append = append
    await conversation.send('Two.')
    expect(count(model.requests[0])).toBe(1)
    await skills.close()
  })
})

test('open() reopens a closed conversation, and conversation() refuses an id that another agent uses', async () => {
  const files = new MemoryFileSystem({ '/skills/refund/SKILL.md': skillText('refund') })
  await using skills = await open(files)
  const store = new MemoryConversationStore()
  const model = new ScriptedModel(() => ({ text: 'Yes.' }))
  const [one, two] = [new SkillAgent({ skills, model, store }), new SkillAgent({ skills, model, store })]
  const conversation = one.conversation('chat')
  await conversation.send('First.')
  expect(() => two.conversation('chat')).toThrow(expect.objectContaining({ code: 'DUPLICATE_SESSION' }))
  conversation.close()
  conversation.close()
  expect(skills.sessions()).toEqual([])
  // Each call of `open()` takes the conversation over from the other agent.
  const taken = await two.open('chat')
  const again = await one.open('chat')
  await expect(taken.send('Late.')).rejects.toMatchObject({ code: 'CLOSED' })
  await again.send('Second.')
  expect(model.requests.at(-1)?.prompt.map(({ role }) => role)).toEqual([
    'system',
    'user',
    'assistant',
    'user',
  ])
})

test('a turn reads the messages that another process has stored since the last turn', async () => {
  const files = new MemoryFileSystem({ '/skills/refund/SKILL.md': skillText('refund') })
  // Gives each agent its own runtime, as if the agents ran in two processes.
  await using skills = await open(files)
  await using others = await open(files)
  const store = new MemoryConversationStore()
  const model = new ScriptedModel(() => ({ text: 'Yes.' }))
  const one = new SkillAgent({ skills, model, store })
  const two = new SkillAgent({ skills: others, model, store })
  await one.conversation('chat').send('First.')
  const other = await two.open('chat')
  await one.conversation('chat').send('Second.')
  expect((await other.send('Third.')).text).toBe('Yes.')
  expect(JSON.stringify(model.requests.at(-1)?.prompt)).toMatch(/First.*Second.*Third/)
  await one.conversation('chat').send('Fourth.')
  expect(JSON.stringify(model.requests.at(-1)?.prompt)).toMatch(/First.*Second.*Third.*Fourth/)
})

test('if allowed-tools is enforced, a model cannot allow itself more tools by rewriting the skill', async () => {
  const skill = (tools: string): string =>
    `---\nname: fix\ndescription: Fixes.\nallowed-tools: ${tools}\n---\nFix.\n`
  const files = new MemoryFileSystem({ '/skills/fix/SKILL.md': skill('Read') })
  await using skills = await open(files)
  const ran: unknown[] = []
  const Bash = dynamicTool({
    description: 'Run.',
    inputSchema: jsonSchema({ type: 'object' }),
    execute: async input => {
      ran.push(input)
      return 'ran'
    },
  })
  const load = { tool: 'skill', input: { name: 'fix' } }
  const write = {
    tool: 'write_skill_file',
    input: { skill_name: 'fix', relative_path: 'SKILL.md', content: skill('Bash') },
  }
  const run = { tool: 'Bash', input: { command: 'rm' } }
  const script = [load, run, write, load, run, { text: 'Done.' }]
  const model = new ScriptedModel(call => script[call - 1] ?? { text: '' })
  const agent = new SkillAgent({
    skills,
    model,
    tools: { Bash },
    allowedTools: 'enforce',
    writer: skills.writer(),
  })
  await agent.conversation().send('Go.')
  expect(ran).toEqual([])
})

test(`when delivery is "rebuild", every model call contains the current skills, but only the first system text is stored ${verifies('FOX-07', 'FOX-B09', 'FOX-B10', 'P05', 'EXO-03')}`, async () => {
  const files = new MemoryFileSystem({
    '/skills/refund/SKILL.md': skillText('refund', { body: 'Secret body.' }),
  })
  await using skills = await open(files)
  const store = new MemoryConversationStore()
  const model = new ScriptedModel(call => {
    if (call === 1) files.write('/skills/tone/SKILL.md', skillText('tone'))
    return call === 1 ? { tool: 'skill', input: { name: 'tone' } } : { text: 'Done.' }
  })
  const agent = new SkillAgent({ skills, model, store, delivery: 'rebuild' })
  await agent.conversation('chat').send('Hello.')
  const [first, second] = model.requests.map(systemOf)
  expect([first?.includes('<name>tone</name>'), second?.includes('<name>tone</name>')]).toEqual([false, true])
  expect(second).not.toContain('Secret body.')
  const rows = await store.read('local', 'chat')
  expect(rows.filter(({ role }) => role === 'system').map(({ content }) => content)).toEqual([first])
})

describe('a turn', () => {
  const files = (): MemoryFileSystem =>
    new MemoryFileSystem({
      '/skills/fix/SKILL.md': `---\nname: fix\ndescription: Fixes issues.\nallowed-tools: Read\nargument-hint: "[issue]"\n---\nFix $issue.\n`,
    })

  test(`replaces a slash command with the instructions of the skill before the model call ${verifies('CRAB-14', 'P29')}`, async () => {
    await using skills = await open(files())
    const model = new ScriptedModel(() => ({ text: 'Fixed.' }))
    const conversation = new SkillAgent({ skills, model, reservedCommands: ['help'] }).conversation()
    const events: AgentEvent[] = []
    for await (const event of conversation.stream('/fix 42')) events.push(event)
    expect(events[0]).toMatchObject({ kind: 'skill-invoked', name: 'fix' })
    expect(conversation.messages[0]?.content).toBe('42\n\n<skill name="fix">\nFix 42.\n</skill>')
    await conversation.send('/help')
    expect(conversation.messages.at(-2)?.content).toBe('/help')
  })

  test('lets the offline model use the skill that a slash command inserted', async () => {
    const fileSystem = files()
    await using skills = await open(fileSystem)
    const conversation = new SkillAgent({ skills, model: createOfflineModel() }).conversation()
    expect((await conversation.send('Use the skill fix.')).text).toContain('Fix $issue.')
    fileSystem.write('/skills/fix/SKILL.md', skillText('fix', { body: 'Mend it: $ARGUMENTS.' }))
    expect((await conversation.send('/fix 42')).text).toBe('By the skill fix (as invoked): Mend it: 42.')
  })

  test(`refuses a call of a tool that allowed-tools does not list, and allows that tool again in the next turn ${verifies('P30', 'CRAB-17')}`, async () => {
    await using skills = await open(files())
    const written: unknown[] = []
    const write = dynamicTool({
      description: 'Write a file.',
      inputSchema: jsonSchema({ type: 'object' }),
      execute: async input => {
        written.push(input)
        return 'written'
      },
    })
    const model = new ScriptedModel(call =>
      call % 2 === 1 ? { tool: 'Write', input: { path: `a${call}` } } : { text: 'Done.' },
    )
    const agent = new SkillAgent({ skills, model, tools: { Write: write }, allowedTools: 'enforce' })
    const conversation = agent.conversation()
    await conversation.send('/fix 42')
    expect(written).toEqual([])
    expect(textOf(model.requests[1])).toContain('may not be called in this way while')
    await conversation.send('Now without.')
    expect(written).toEqual([{ path: 'a3' }])
  })

  test(`if the model calls a tool with the name of a skill, explains how to load the skill ${verifies('FOX-B08', 'P28')}`, async () => {
    await using skills = await open(files())
    const model = new ScriptedModel(call => (call === 1 ? { tool: 'fix', input: {} } : { text: 'I see.' }))
    const conversation = new SkillAgent({ skills, model }).conversation()
    expect((await conversation.send('Fix it.')).text).toBe('I see.')
    expect(textOf(model.requests[1])).toContain('it is a skill; call the tool \\"skill\\" with')
  })

  test(`lets a model write a skill of several files, reload the skills, and use the new skill in one conversation ${verifies('FOX-01', 'FOX-08', 'FOX-09', 'FOX-21', 'FOX-22')}`, async () => {
    const fileSystem = files()
    await using skills = await open(fileSystem)
    const write = (relative_path: string, content: string) => ({
      tool: 'write_skill_file',
      input: { skill_name: 'writing-notes', relative_path, content },
    })
    const script = [
      write('examples.md', 'Added: a button.'),
      write(
        'SKILL.md',
        '---\nname: writing-notes\ndescription: Use when notes are written.\n---\nOne line each.\n',
      ),
      { tool: 'reload_skills', input: {} },
      { text: 'It is live.' },
      { tool: 'skill', input: { name: 'writing-notes' } },
      { tool: 'read_skill_file', input: { skill: 'writing-notes', path: 'examples.md' } },
      { text: 'Added: a page.' },
    ]
    const model = new ScriptedModel(call => script[call - 1] ?? { text: '' })
    const conversation = new SkillAgent({ skills, model, writer: skills.writer() }).conversation()
    await conversation.send('Create a skill for release notes.')
    expect(model.requests[0]?.tools?.map(({ name }) => name).toSorted()).toEqual([
      'read_skill_file',
      'reload_skills',
      'skill',
      'write_skill_file',
    ])
    expect(textOf(model.requests[3])).toMatch(/Skills reloaded\. 2 skill\(s\) now active\./)
    expect((await conversation.send('Write the notes.')).text).toBe('Added: a page.')
    expect(textOf(model.requests[4])).toContain('- added: writing-notes: Use when notes are written.')
    expect(textOf(model.requests[6])).toContain('Added: a button.')
  })
})
