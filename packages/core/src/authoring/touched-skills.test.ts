import { describe, expect, test } from 'vitest'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { MemoryDecisions } from '../history/decisions.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import type { SkillSession } from '../session/skill-session.ts'
import { FileSource } from '../source/file-source.ts'
import { NO_SETTLE } from '../source/settle.ts'
import type { ToolResult } from '../tool/tool-definition.ts'
import { createAuthorTools } from './author-tools.ts'

const text = (name: string, body = `Body of ${name}.`): string =>
  `---\nname: ${name}\ndescription: Does ${name}.\n---\n${body}\n`

interface Agent {
  readonly session: SkillSession
  write(skill: string, path: string, content: string): Promise<ToolResult>
}

interface Kit extends AsyncDisposable {
  readonly files: MemoryFileSystem
  readonly skills: SkillRuntime
  agent(id: string, scope?: readonly string[]): Agent
  put(path: string, content: string): Promise<void>
  bodyOf(name: string): Promise<string>
  pathsOf(name: string): readonly string[]
  statuses(): Readonly<Record<string, string>>
}

/** Opens one source for each root. The first root is writable. */
async function open(
  files: Readonly<Record<string, string>>,
  roots: readonly string[] = ['/s'],
  decisions: MemoryDecisions = new MemoryDecisions(),
  agentWrites: 'hold' | 'live' = 'hold',
): Promise<Kit> {
  const fileSystem = new MemoryFileSystem(files)
  const sources = roots.map(
    (root, index) =>
      new FileSource({
        ...{ fileSystem, root, label: root.slice(1), watching: 'off' },
        ...(index === 0 ? { writable: fileSystem } : {}),
      }),
  )
  const skills = await createSkillRuntime({
    sources,
    state: { decisions },
    review: { agentWrites },
    tuning: { settle: NO_SETTLE },
  })
  return {
    files: fileSystem,
    skills,
    agent: (id, scope) => {
      const session = skills.session({ id })
      const author = { name: 'the bot', conversation: session.conversation }
      const isInScope = (name: string): boolean => scope?.includes(name) ?? true
      const [tool] = createAuthorTools(skills.writer(), { author, isInScope })
      return {
        session,
        write: async (skill_name, relative_path, content) =>
          (await tool?.execute({ skill_name, relative_path, content })) ?? expect.unreachable(),
      }
    },
    put: async (path, content) => {
      fileSystem.write(path, content)
      await skills.reload()
    },
    bodyOf: async name => await skills.readBody(skills.current.get(name)),
    pathsOf: name => skills.current.get(name).files.map(({ path }) => path),
    statuses: () => Object.fromEntries(skills.current.reports().map(({ name, status }) => [name, status])),
    [Symbol.asyncDispose]: async () => await skills.close(),
  }
}

describe('T59: a file whose last text is an unapproved one of an agent', () => {
  const FILES = {
    '/s/team/SKILL.md': text('team'),
    '/s/team/pdf/SKILL.md': text('pdf'),
    '/s/team/pdf/rules.md': 'x',
  }

  test('stays in every skill that has it until its removal is approved', async () => {
    await using it = await open(FILES)
    await it.agent('a').write('pdf', 'rules.md', 'y')
    it.files.remove('/s/team/pdf/rules.md')
    await it.skills.reload()
    expect(it.statuses()).toEqual({ pdf: 'pending', team: 'pending' })
    expect([it.pathsOf('team'), it.pathsOf('pdf')]).toEqual([
      ['SKILL.md', 'pdf/SKILL.md', 'pdf/rules.md'],
      ['SKILL.md', 'rules.md'],
    ])
    expect(it.skills.review.pending().map(({ diagnostics }) => diagnostics.at(-1)?.message)).toEqual([
      expect.stringContaining('without "rules.md", which was last written by the bot'),
      expect.stringContaining('without "pdf/rules.md", which was last written by the bot'),
    ])
    await it.skills.review.approve('pdf')
    await it.skills.review.approve('team')
    await it.put('/s/team/pdf/SKILL.md', text('pdf', 'By hand.'))
    expect(it.statuses()).toEqual({ pdf: 'ok', team: 'ok' })
    // The approval of the removal approves no text.
    await it.put('/s/team/pdf/rules.md', 'y')
    expect(it.statuses()).toEqual({ pdf: 'pending', team: 'pending' })
  })

  test('holds nothing if it was never live', async () => {
    await using it = await open(FILES)
    await it.agent('a').write('pdf', 'new.md', 'y')
    it.files.remove('/s/team/pdf/new.md')
    await it.put('/s/team/pdf/SKILL.md', text('pdf', 'By hand.'))
    expect(it.statuses()).toEqual({ pdf: 'ok', team: 'ok' })
  })
})

describe('T50: a write of an agent', () => {
  test('into the folder of a nested skill is refused', async () => {
    await using it = await open({ '/s/team/SKILL.md': text('team'), '/s/team/pdf/SKILL.md': text('pdf') })
    const result = await it.agent('a').write('team', 'pdf/scripts/x.py', 'steal()')
    expect(result).toMatchObject({
      isError: true,
      text: expect.stringContaining('lies in the folder of another skill, "pdf"; write to that skill'),
    })
    await it.skills.reload()
    expect([it.pathsOf('team'), it.pathsOf('pdf')]).toEqual([['SKILL.md', 'pdf/SKILL.md'], ['SKILL.md']])
  })

  test('into a nested skill that no scan has found yet is refused', async () => {
    await using it = await open({ '/s/team/SKILL.md': text('team') })
    it.files.write('/s/team/pdf/SKILL.md', text('pdf'))
    const result = await it.agent('a').write('team', 'pdf/x.py', 'steal()')
    expect(result.text).toContain('lies in the folder of another skill')
  })

  test('through a root that is a skill itself is refused', async () => {
    await using it = await open({ '/s/SKILL.md': text('s'), '/s/pdf/SKILL.md': text('pdf') })
    expect((await it.agent('a').write('s', 'pdf/scripts/x.py', 'steal()')).text).toContain(
      'lies in the folder of another skill, "pdf"',
    )
  })

  test.each(['hold', 'live'] as const)(
    'that makes a skill of a folder with other files is refused (%s)',
    async mode => {
      const files = { '/s/team/pdf/SKILL.md': text('pdf'), '/s/tools/deploy.sh': 'deploy' }
      await using it = await open(files, ['/s'], new MemoryDecisions(), mode)
      const agent = it.agent('a')
      for (const name of ['team', 'tools'])
        expect(await agent.write(name, 'SKILL.md', text(name))).toMatchObject({
          isError: true,
          text: expect.stringContaining(`the folder "/s/${name}" exists and is not a skill`),
        })
      expect((await agent.write('team', 'pdf/x.py', 'steal()')).isError).toBe(true)
    },
  )

  test.each([
    ['hold', 'pending'],
    ['live', 'ok'],
  ] as const)(
    'may begin a skill with any file, and the next write continues this skill (%s)',
    async (mode, status) => {
      await using it = await open({ '/s/.keep': '' }, ['/s'], new MemoryDecisions(), mode)
      const agent = it.agent('a')
      for (const [path, content] of [
        ['templates/mail.md', 'Dear ...'],
        ['SKILL.md', text('tone')],
      ] as const)
        expect((await agent.write('tone', path, content)).isError).toBe(false)
      expect(it.statuses()).toEqual({ tone: status })
    },
  )

  test('of a .skillignore is refused if other skills lie below', async () => {
    await using it = await open({ '/s/team/SKILL.md': text('team'), '/s/team/pdf/SKILL.md': text('pdf') })
    expect((await it.agent('a').write('team', '.skillignore', 'pdf')).text).toContain(
      'would also decide about the files of another skill, "pdf"',
    )
    await it.skills.reload()
    expect(it.skills.current.find('pdf')).toBeDefined()
  })

  test('to a nested skill waits for an approval in each skill whose folder contains it', async () => {
    await using it = await open({ '/s/team/SKILL.md': text('team'), '/s/team/pdf/SKILL.md': text('pdf') })
    const agent = it.agent('a')
    await agent.write('pdf', 'scripts/x.py', 'agent()')
    expect(it.statuses()).toEqual({ pdf: 'pending', team: 'pending' })
    expect([it.pathsOf('team'), it.pathsOf('pdf')]).toEqual([['SKILL.md', 'pdf/SKILL.md'], ['SKILL.md']])
    expect(it.skills.review.pending().map(({ diagnostics }) => diagnostics.at(-1)?.message)).toEqual([
      expect.stringContaining('written by the bot'),
      expect.stringContaining('written by the bot'),
    ])
    // Each approval settles the text for its own skill only.
    await it.skills.review.approve('team')
    expect(it.statuses()).toEqual({ pdf: 'pending', team: 'ok' })
    await it.put('/s/team/notes.md', 'By hand.')
    expect(it.statuses()).toEqual({ pdf: 'pending', team: 'ok' })
    await it.skills.review.approve('pdf')
    expect(it.statuses()).toEqual({ pdf: 'ok', team: 'ok' })
  })

  test('is refused if a skill whose folder contains it is out of scope', async () => {
    await using it = await open({ '/s/team/SKILL.md': text('team'), '/s/team/pdf/SKILL.md': text('pdf') })
    expect((await it.agent('a', ['pdf']).write('pdf', 'x.md', 'x')).text).toBe(
      'the folder of "pdf" is part of another skill, which may not be written here',
    )
    expect((await it.agent('b', ['pdf', 'team']).write('pdf', 'x.md', 'x')).isError).toBe(false)
  })

  test('waits for an approval in another source that reads the same folder', async () => {
    await using it = await open({ '/s/team/pdf/SKILL.md': text('pdf') }, ['/s', '/s/team'])
    await it.agent('a').write('pdf', 'SKILL.md', text('pdf', 'Of an agent.'))
    await it.skills.reload()
    expect(it.skills.current.reports().map(({ source, status }) => [source, status])).toEqual([
      ['s', 'pending'],
      ['s/team', 'pending'],
    ])
    expect(await it.bodyOf('pdf')).toBe('Body of pdf.')
  })
})

test('T51: a revision with texts of two conversations is live in neither of them', async () => {
  await using it = await open({ '/s/pdf/SKILL.md': text('pdf') })
  const [one, two] = [it.agent('1'), it.agent('2')]
  await one.write('pdf', 'SKILL.md', text('pdf', 'Of the first.'))
  await two.write('pdf', 'notes.md', 'Of the second.')
  await it.skills.writer().write({ skill: 'tone', path: 'SKILL.md', content: text('tone'), agent: {} })
  await one.write('tone', 'notes.md', 'Of the first.')
  expect(one.session.pending()?.text).toBeUndefined()
  for (const { session } of [one, two]) {
    const reader = it.skills.forConversation({ id: session.conversation })
    expect(await reader.readBody(reader.current.get('pdf'))).toBe('Body of pdf.')
  }
})

test('T43: a folder that lost a note also holds every change of the skill around it', async () => {
  const decisions = new MemoryDecisions()
  await using it = await open(
    { '/s/team/SKILL.md': text('team'), '/s/team/pdf/SKILL.md': text('pdf') },
    ['/s'],
    decisions,
  )
  const [source] = it.skills.status()
  const place = { origin: source?.origin ?? '', location: 'team/pdf' }
  for (let count = 0; count < 1_001; count++)
    await decisions.record(place, {
      ...{ kind: 'write', path: `${count}.md`, digest: `sha256:${count}`, by: 'the bot', at: 0 },
    })
  await it.put('/s/team/pdf/scripts/x.py', 'the lost text')
  expect(it.statuses()).toEqual({ pdf: 'pending', team: 'pending' })
  await it.skills.review.approve('pdf')
  await it.put('/s/team/notes.md', 'By hand.')
  expect(it.statuses()).toEqual({ pdf: 'ok', team: 'pending' })
  await it.skills.review.approve('team')
  await it.put('/s/team/notes.md', 'By hand again.')
  expect(it.statuses()).toEqual({ pdf: 'ok', team: 'ok' })
})
