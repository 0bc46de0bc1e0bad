import { verifies } from '@skillstoke/requirements'
import { describe, expect, test } from 'vitest'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import type { Skill } from '../skill/skill.ts'
import { FileSource } from '../source/file-source.ts'
import { NO_SETTLE } from '../source/settle.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import type { NamedTool } from '../tool/tool-resolver.ts'
import type { BindableAgent } from './owned-tools.ts'

const text = (name: string, body = `Body of ${name}.`): string =>
  `---\nname: ${name}\ndescription: Does ${name}.\n---\n${body}\n`

class Agent implements BindableAgent {
  readonly tools = new Map<string, NamedTool>()
  readonly calls: string[] = []
  instructions?: string
  /** Called before each change of the agent. The function may throw or wait. */
  before: (call: string) => void | Promise<void> = () => undefined

  constructor(own: readonly NamedTool[] = [], instructions?: string) {
    for (const tool of own) this.tools.set(tool.name, tool)
    if (instructions !== undefined) this.instructions = instructions
  }

  async addTool(tool: NamedTool): Promise<void> {
    await this.before(`add ${tool.name}`)
    if (this.tools.has(tool.name)) throw new Error(`${tool.name} is already registered`)
    this.calls.push(`add ${tool.name}`)
    this.tools.set(tool.name, tool)
  }

  async removeTool(name: string): Promise<void> {
    await this.before(`remove ${name}`)
    this.calls.push(`remove ${name}`)
    this.tools.delete(name)
  }

  get names(): string[] {
    return [...this.tools.keys()].sort()
  }
}

class AskableAgent extends Agent {
  hasTool(name: string): boolean {
    return this.tools.has(name)
  }
}

interface Harness extends AsyncDisposable {
  readonly files: MemoryFileSystem
  readonly skills: SkillRuntime
  readonly clock: FakeClock
  /** Waits until all writes are visible and every subscriber was called. */
  settle(): Promise<void>
}

async function open(names: readonly string[]): Promise<Harness> {
  const clock = new FakeClock()
  const files = new MemoryFileSystem({ '/skills/.keep': '' })
  for (const name of names) files.write(`/skills/${name}/SKILL.md`, text(name))
  const skills = await createSkillRuntime({
    sources: [new FileSource({ fileSystem: files, root: '/skills', label: 'skills', clock })],
    tuning: { settle: NO_SETTLE },
    clock,
  })
  return {
    files,
    skills,
    clock,
    settle: async () => {
      await skills.reload()
      await skills.delivered()
    },
    [Symbol.asyncDispose]: () => skills.close(),
  }
}

const tool = (name: string): NamedTool => ({ name })
/** Returns a new tool for each revision of a skill, named after the skill. */
const perSkill = { resolve: (skill: Skill): NamedTool[] => [{ name: `${skill.name}_tool` }] }

describe('SkillRuntime.bind()', () => {
  test(`bind() adds the tools of existing skills, then updates the tools after each change of a skill ${verifies('EXO-03', 'EXO-B06', 'EXO-22', 'EXO-23', 'EXO-24', 'P27')}`, async () => {
    await using it = await open(['pdf'])
    const agent = new Agent()
    const binding = await it.skills.bind(agent, { tools: perSkill })
    expect(agent.names).toEqual(['pdf_tool'])
    const before = agent.tools.get('pdf_tool')
    it.files.write('/skills/maps/SKILL.md', text('maps'))
    it.files.write('/skills/pdf/SKILL.md', text('pdf', 'Newer.'))
    await it.settle()
    expect(agent.names).toEqual(['maps_tool', 'pdf_tool'])
    expect(agent.tools.get('pdf_tool')).not.toBe(before)
    expect(agent.calls).toEqual(['add pdf_tool', 'add maps_tool', 'remove pdf_tool', 'add pdf_tool'])
    it.files.remove('/skills/maps')
    await it.settle()
    expect(agent.names).toEqual(['pdf_tool'])
    expect(binding.tools()).toEqual([{ name: 'pdf_tool', skills: ['pdf'] }])
  })

  test(`unbind() removes only the tools that bind() added, and keeps all tools if the option "unbind" is "keep" ${verifies('EXO-18', 'EXO-B06', 'P27')}`, async () => {
    await using it = await open(['pdf'])
    const own = tool('own')
    const agent = new Agent([own], 'Be kind.')
    const instructions = (): string => 'Skills!'
    await it.skills.bind(agent, { tools: perSkill, instructions })
    expect(agent.instructions).toBe('Be kind.\n\nSkills!')
    await it.skills.unbind(agent)
    expect([agent.names, agent.instructions]).toEqual([['own'], 'Be kind.'])
    it.files.write('/skills/maps/SKILL.md', text('maps'))
    await it.settle()
    expect(agent.names).toEqual(['own'])
    await it.skills.unbind(agent)

    const kept = new Agent()
    await it.skills.bind(kept, { tools: perSkill, unbind: 'keep' })
    await it.skills.unbind(kept)
    it.files.remove('/skills/maps')
    await it.settle()
    expect(kept.names).toEqual(['maps_tool', 'pdf_tool'])
    await it.skills.unbind(new Agent())
  })

  test(`bind() never changes a tool that the agent already had ${verifies('EXO-B04', 'P27')}`, async () => {
    for (const create of [
      (own: NamedTool[]) => new Agent(own),
      (own: NamedTool[]) => new AskableAgent(own),
    ]) {
      await using it = await open(['search'])
      const own = tool('web_search')
      const agent = create([own])
      await it.skills.bind(agent, { tools: { search: [tool('web_search'), tool('other')] } })
      expect(agent.names).toEqual(['other', 'web_search'])
      it.files.write('/skills/search/SKILL.md', text('search', 'Newer.'))
      await it.settle()
      it.files.remove('/skills/search')
      await it.settle()
      expect([...agent.tools.values()]).toEqual([own])
      expect(agent.tools.get('web_search')).toBe(own)
    }
  })

  test(`if two skills provide a tool, the agent keeps the tool until both skills are removed ${verifies('EXO-B04', 'P27')}`, async () => {
    await using it = await open(['a', 'b'])
    const agent = new Agent()
    const [fromA, fromB] = [tool('shared'), tool('shared')]
    const binding = await it.skills.bind(agent, { tools: { a: fromA, b: [fromB] } })
    expect(binding.tools()).toEqual([{ name: 'shared', skills: ['a', 'b'] }])
    it.files.remove('/skills/a')
    await it.settle()
    expect(agent.tools.get('shared')).toBe(fromB)
    it.files.remove('/skills/b')
    await it.settle()
    expect(agent.names).toEqual([])
  })

  test(`the first change of a skill replaces its tools and leaves no duplicates ${verifies('EXO-B05')}`, async () => {
    await using it = await open(['pdf'])
    const agent = new Agent()
    await it.skills.bind(agent, { tools: perSkill })
    it.files.write('/skills/pdf/SKILL.md', text('pdf', 'Newer.'))
    await it.settle()
    expect(agent.calls).toEqual(['add pdf_tool', 'remove pdf_tool', 'add pdf_tool'])
    expect(agent.names).toEqual(['pdf_tool'])
  })

  test(`bind() returns the same binding for an agent that is already bound, and adds only the tools in the scope of the agent ${verifies('P18', 'CRAB-15')}`, async () => {
    await using it = await open(['maps', 'pdf'])
    const [all, scoped] = [new Agent(), new Agent()]
    const binding = await it.skills.bind(all, { tools: perSkill })
    expect(await it.skills.bind(all, { tools: perSkill })).toBe(binding)
    await it.skills.bind(scoped, { tools: perSkill, scope: { include: ['pdf'] } })
    expect([all.names, scoped.names]).toEqual([['maps_tool', 'pdf_tool'], ['pdf_tool']])
    await binding.unbind()
    expect([all.names, scoped.names]).toEqual([[], ['pdf_tool']])
  })
})

describe('concurrent calls of bind() and unbind()', () => {
  test(`an agent that is bound again while unbind() runs has the tools of its skills ${verifies('EXO-B06')}`, async () => {
    await using it = await open(['pdf'])
    const agent = new AskableAgent()
    agent.before = async call => {
      if (call.startsWith('remove')) for (let i = 0; i < 5; i++) await Promise.resolve()
    }
    const first = await it.skills.bind(agent, { tools: perSkill })
    const unbound = first.unbind()
    const second = await it.skills.bind(agent, { tools: perSkill })
    await unbound
    expect(second).not.toBe(first)
    expect([agent.names, second.tools()]).toEqual([['pdf_tool'], [{ name: 'pdf_tool', skills: ['pdf'] }]])
    await second.unbind()
    expect(agent.names).toEqual([])
  })

  test(`the last call decides whether the agent is bound, even if no call is awaited ${verifies('EXO-B06', 'EXO-18')}`, async () => {
    await using it = await open(['pdf'])
    const agent = new Agent()
    const calls = [
      it.skills.bind(agent, { tools: perSkill }),
      it.skills.unbind(agent),
      it.skills.bind(agent, { tools: perSkill }),
      it.skills.unbind(agent),
    ]
    await Promise.all(calls)
    it.files.write('/skills/maps/SKILL.md', text('maps'))
    await it.settle()
    expect(agent.names).toEqual([])
  })

  test('unbind() also removes a tool that is still being added', async () => {
    await using it = await open(['pdf'])
    const agent = new Agent()
    const gate = Promise.withResolvers<void>()
    agent.before = call => (call.startsWith('add') ? gate.promise : undefined)
    const bound = it.skills.bind(agent, { tools: perSkill, timeoutMs: 20 })
    await it.clock.advance(21)
    await (await bound).unbind()
    gate.resolve()
    await it.clock.advance(1)
    expect(agent.names).toEqual([])
  })

  test('unbind() rejects when the agent does not remove a tool, and a second unbind() succeeds', async () => {
    await using it = await open(['pdf'])
    const agent = new Agent()
    const binding = await it.skills.bind(agent, { tools: perSkill })
    agent.before = () => {
      throw new Error('busy')
    }
    await expect(binding.unbind()).rejects.toMatchObject({
      code: 'HOOK_FAILED',
      message: 'the agent did not remove a tool: busy; call unbind() again',
    })
    agent.before = () => undefined
    await binding.unbind()
    expect(agent.names).toEqual([])
  })

  test('failed calls are not retried after the runtime is closed', async () => {
    const it = await open(['pdf'])
    const agent = new Agent()
    let calls = 0
    agent.before = () => {
      calls++
      throw new Error('no')
    }
    await it.skills.bind(agent, { tools: perSkill })
    await it.skills.close()
    const before = calls
    await it.clock.advance(120_000)
    expect(calls).toBe(before)
  })
})

describe('SkillRuntime.bind() after a failure', () => {
  test(`a failed call to one agent is retried until the call succeeds, and does not delay another agent ${verifies('EXO-27', 'EXO-B01', 'P26')}`, async () => {
    await using it = await open(['pdf'])
    const [weak, strong] = [new Agent(), new Agent()]
    weak.before = call => {
      throw new Error(`cannot ${call}`)
    }
    const binding = await it.skills.bind(weak, { tools: perSkill })
    await it.skills.bind(strong, { tools: perSkill })
    it.files.write('/skills/maps/SKILL.md', text('maps'))
    await it.settle()
    expect(strong.names).toEqual(['maps_tool', 'pdf_tool'])
    expect(binding.problems()).toEqual([
      'tools of "pdf": cannot add pdf_tool',
      'tools of "maps": cannot add maps_tool',
    ])
    weak.before = () => undefined
    await it.clock.advance(60_000)
    await binding.settled()
    expect([weak.names, binding.problems()]).toEqual([['maps_tool', 'pdf_tool'], []])
  })

  test(`if the resolver fails for one skill, the agent keeps the tools of that skill, and the tools of other skills are updated ${verifies('EXO-B01', 'EXO-08')}`, async () => {
    await using it = await open(['a', 'b', 'c'])
    let isBroken = false
    const agent = new Agent()
    const resolver = {
      resolve: (skill: Skill): NamedTool[] => {
        if (isBroken && skill.name === 'b') throw new Error('no idea')
        return [{ name: `${skill.name}_${skill.description.length}` }]
      },
    }
    const binding = await it.skills.bind(agent, { tools: resolver })
    isBroken = true
    for (const name of ['a', 'b', 'c'])
      it.files.write(
        `/skills/${name}/SKILL.md`,
        `---\nname: ${name}\ndescription: Longer than before.\n---\n`,
      )
    await it.settle()
    expect(agent.names).toEqual(['a_19', 'b_7', 'c_19'])
    isBroken = false
    await it.clock.advance(1_000)
    await binding.settled()
    expect(agent.names).toEqual(['a_19', 'b_19', 'c_19'])
  })

  test(`the binding retries the removal of a tool`, async () => {
    await using it = await open(['pdf'])
    const agent = new Agent()
    const binding = await it.skills.bind(agent, { tools: perSkill })
    agent.before = () => {
      throw new Error('busy')
    }
    it.files.remove('/skills/pdf')
    await it.settle()
    expect([agent.names, binding.problems()]).toEqual([['pdf_tool'], ['tools of "pdf": busy']])
    agent.before = () => undefined
    await it.clock.advance(1_000)
    await binding.settled()
    expect([agent.names, binding.problems(), binding.tools()]).toEqual([[], [], []])
  })

  test('the binding reports a call that times out, and accepts the call if it succeeds later', async () => {
    await using it = await open(['pdf'])
    const agent = new Agent()
    const gate = Promise.withResolvers<void>()
    agent.before = () => gate.promise
    const bound = it.skills.bind(agent, { tools: perSkill, timeoutMs: 100 })
    await it.clock.advance(101)
    const binding = await bound
    expect(binding.problems()).toEqual(['tools of "pdf": addTool("pdf_tool") took longer than 100 ms'])
    gate.resolve()
    await it.clock.advance(1_000)
    await binding.settled()
    expect([agent.names, binding.problems()]).toEqual([['pdf_tool'], []])
    await binding.unbind()
    expect(agent.names).toEqual([])
  })

  test(`other agents are updated while the addTool() of one agent never resolves ${verifies('EXO-27', 'P26')}`, async () => {
    await using it = await open([])
    const [hung, other] = [new Agent(), new Agent()]
    hung.before = () => new Promise<void>(() => undefined)
    const names = (skills: readonly Skill[]): string => skills.map(({ name }) => name).join()
    for (const agent of [hung, other])
      await it.skills.bind(agent, { tools: perSkill, instructions: names, timeoutMs: 30_000 })
    const told: string[] = []
    it.skills.events.on('skill:added', ({ skill }) => void told.push(skill.name))
    for (const name of ['maps', 'pdf']) {
      it.files.write(`/skills/${name}/SKILL.md`, text(name))
      await it.skills.reload()
      await it.clock.advance(1_000)
    }
    expect([other.names, other.instructions, told]).toEqual([
      ['maps_tool', 'pdf_tool'],
      'maps,pdf',
      ['maps', 'pdf'],
    ])
    // The first call to the agent still hangs, so the next update does not wait for this agent.
    it.files.write('/skills/zip/SKILL.md', text('zip'))
    await it.settle()
    expect([other.names.length, told.length]).toEqual([3, 3])
  })

  test('the binding reports a resolver that does not return a list', async () => {
    await using it = await open(['pdf'])
    const agent = new Agent()
    const binding = await it.skills.bind(agent, { tools: { resolve: () => 'tool' as never } })
    expect(binding.problems()[0]).toContain('the resolver returned something other than a list of tools')
  })
})

describe('instructions of a bound agent', () => {
  test(`the text about skills is placed after the agent's own text, and is rebuilt after each change ${verifies('EXO-25', 'EXO-43', 'EXO-B08', 'P16')}`, async () => {
    await using it = await open(['maps', 'pdf'])
    const agent = new Agent([], 'Be kind.')
    await it.skills.bind(agent, {
      instructions: skills =>
        [
          '# Skills',
          ...skills.map(skill => `- **${skill.name}**: ${skill.description}\n  ${skill.body.split('\n')[0]}`),
        ].join('\n'),
    })
    expect(agent.instructions).toBe(
      'Be kind.\n\n# Skills\n- **maps**: Does maps.\n  Body of maps.\n- **pdf**: Does pdf.\n  Body of pdf.',
    )
    it.files.remove('/skills/maps')
    it.files.write('/skills/pdf/SKILL.md', text('pdf', 'Newer.\nMore.'))
    await it.settle()
    expect(agent.instructions).toBe('Be kind.\n\n# Skills\n- **pdf**: Does pdf.\n  Newer.')
    agent.instructions = 'Be brief.'
    it.files.write('/skills/new/SKILL.md', text('new'))
    await it.settle()
    expect(agent.instructions).toMatch(/^Be brief\.\n\n# Skills\n- \*\*new/)
  })

  test('the instructions contain only the newest block of skills, even if the owner added text around an older block', async () => {
    await using it = await open(['a'])
    const agent = new Agent([], 'Base.')
    const binding = await it.skills.bind(agent, {
      instructions: skills => `Skills: ${skills.map(({ name }) => name).join()}`,
    })
    agent.instructions += '\nToday is Monday.'
    it.files.write('/skills/b/SKILL.md', text('b'))
    await it.settle()
    expect(agent.instructions).toBe('Base.\nToday is Monday.\n\nSkills: a,b')
    await binding.unbind()
    expect(agent.instructions).toBe('Base.\nToday is Monday.')
  })

  test(`the instructions stay unchanged when their builder throws, until a retry succeeds ${verifies('EXO-B01')}`, async () => {
    await using it = await open(['pdf'])
    const agent = new Agent()
    let isBroken = false
    const binding = await it.skills.bind(agent, {
      instructions: skills => {
        if (isBroken) throw new Error('no words')
        return skills.map(({ name }) => name).join()
      },
    })
    isBroken = true
    it.files.write('/skills/maps/SKILL.md', text('maps'))
    await it.settle()
    expect([agent.instructions, binding.problems()]).toEqual(['pdf', ['instructions: no words']])
    isBroken = false
    await it.clock.advance(1_000)
    await binding.settled()
    expect([agent.instructions, binding.problems()]).toEqual(['maps,pdf', []])
    await binding.unbind()
    expect('instructions' in agent).toBe(false)
  })
})

test(`updates reach the registry first, then tools, then instructions, then events ${verifies('P06', 'EXO-B13', 'EXO-08')}`, async () => {
  await using it = await open([])
  const told: string[] = []
  const note = (what: string): void =>
    void told.push(
      `${what}: ${it.skills.current
        .list()
        .map(({ name }) => name)
        .join()}`,
    )
  const agent = new Agent()
  agent.before = () => note('tools')
  await it.skills.bind(agent, {
    tools: perSkill,
    instructions: () => {
      note('instructions')
      return ''
    },
  })
  told.length = 0
  it.skills.events.on('skill:added', () => note('events'))
  it.skills.subscribe(() => note('mcp'), { phase: 'mcp' })
  it.files.write('/skills/pdf/SKILL.md', text('pdf'))
  await it.settle()
  expect(told).toEqual(['tools: pdf', 'instructions: pdf', 'events: pdf', 'mcp: pdf'])
})
