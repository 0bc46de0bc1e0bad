import { describe, expect, test } from 'vitest'
import { createSkillRuntime, type Skill, type SkillRuntime, type SkillRuntimeOptions } from '../index.ts'
import { FileSource, MemoryFileSystem, NO_SETTLE } from '../source-entry.ts'

const text = (name: string, body = 'Body.'): string =>
  `---\nname: ${name}\ndescription: Does ${name}.\n---\n${body}\n`

async function open(
  files: Readonly<Record<string, string>>,
  options: Partial<SkillRuntimeOptions> = {},
): Promise<{ skills: SkillRuntime; files: MemoryFileSystem }> {
  const fileSystem = new MemoryFileSystem(files)
  const sources = ['one', 'two', 'three'].map(
    label => new FileSource({ fileSystem, root: `/${label}`, label, watching: 'off' }),
  )
  const skills = await createSkillRuntime({ sources, tuning: { settle: NO_SETTLE }, ...options })
  return { skills, files: fileSystem }
}

const rows = (skills: SkillRuntime): string[] =>
  skills.current
    .reports()
    .map(({ source, status, copies = [] }) => [source, status, ...copies.map(copy => copy.source)].join(' '))

describe('copies of a skill in several sources', () => {
  test('copies are reported as one skill that lists all its copies', async () => {
    const { skills } = await open({
      '/one/pdf/SKILL.md': text('pdf'),
      '/two/tools/pdf/SKILL.md': text('pdf'),
      '/three/pdf/SKILL.md': text('pdf', 'Other.'),
    })
    expect(rows(skills)).toEqual(['one ok two', 'three shadowed'])
    expect(skills.current.reports()[0]?.copies).toEqual([{ source: 'two', location: 'tools/pdf' }])
    expect(skills.explain('pdf').steps[0]?.detail).toContain('the same in two:tools/pdf')
    await skills.close()
  })

  test('a copy that is added, changed or removed causes new reports but no change of the served skill', async () => {
    const { skills, files } = await open({ '/one/pdf/SKILL.md': text('pdf') })
    const { digest } = skills.current
    const seen: string[][] = []
    skills.subscribe(({ changes }) => void seen.push([`${changes.length}`, ...rows(skills)]))
    for (const content of [text('pdf'), text('pdf', 'Other.'), text('pdf')]) {
      files.write('/two/pdf/SKILL.md', content)
      await skills.reload()
    }
    files.remove('/two/pdf')
    await skills.reload()
    await skills.delivered()
    expect(seen).toEqual([
      ['0', 'one ok two'],
      ['0', 'one ok', 'two shadowed'],
      ['0', 'one ok two'],
      ['0', 'one ok'],
    ])
    expect(skills.current.digest).toBe(digest)
    await skills.close()
  })

  test('a copy is served when the first folder is removed, and only the location changes', async () => {
    const { skills, files } = await open({
      '/one/pdf/SKILL.md': text('pdf'),
      '/two/pdf/SKILL.md': text('pdf'),
    })
    const facets: string[] = []
    skills.subscribe(({ changes }) => {
      for (const change of changes)
        facets.push(change.kind === 'modified' ? change.facets.join() : change.kind)
    })
    files.remove('/one/pdf')
    await skills.reload()
    await skills.delivered()
    expect([rows(skills), facets]).toEqual([['two ok'], ['location']])
    await skills.close()
  })

  test('a decision about one copy does not affect the other copy', async () => {
    const { skills } = await open({ '/one/pdf/SKILL.md': text('pdf'), '/two/pdf/SKILL.md': text('pdf') })
    await skills.review.disable('two/pdf')
    expect(rows(skills)).toEqual(['one ok', 'two disabled'])
    await skills.close()
  })
})

describe('a shadowed skill', () => {
  const files = { '/one/pdf/SKILL.md': text('pdf', 'First.'), '/two/pdf/SKILL.md': text('pdf', 'Second.') }

  test('a program can read a skill by source/name', async () => {
    const { skills } = await open(files)
    const loser = skills.current.get('two/pdf')
    expect([loser.source, await skills.readBody(loser), (await skills.load('two/pdf')).body]).toEqual([
      'two',
      'Second.',
      'Second.',
    ])
    expect([
      skills.current.find('three/pdf'),
      skills.current.find('nope/pdf'),
      skills.current.find('two/'),
    ]).toEqual([undefined, undefined, undefined])
    await skills.close()
  })

  test('a conversation whose scope includes the skill can load it by source/name', async () => {
    const { skills, files: disk } = await open(files)
    const session = skills.session({ id: 's' })
    const call = async (name: string, input: unknown): Promise<string> =>
      (await session.tools.find(tool => tool.name === name)?.execute(input))?.text ?? ''
    expect(await call('skill', { name: 'pdf' })).toContain('First.')
    expect(await call('skill', { name: 'two/pdf' })).toContain('Second.')
    expect(await call('read_skill_file', { skill: 'two/pdf', path: 'SKILL.md' })).toContain('Second.')
    expect(session.ledger.entries().map(({ name }) => name)).toEqual(['pdf', 'two/pdf'])
    expect(await session.update()).toBeUndefined()
    disk.write('/two/pdf/SKILL.md', text('pdf', 'Newer.'))
    expect((await session.update())?.text).toMatch(/two\/pdf/)
    const scoped = skills.session({ id: 't', scope: { exclude: ['pdf'] } })
    const load = scoped.tools.find(tool => tool.name === 'skill')
    expect((await load?.execute({ name: 'two/pdf' }))?.text).toContain('no skill "two/pdf"')
    await skills.close()
  })

  test('source/name does not find a disabled skill', async () => {
    const { skills } = await open(files)
    await skills.review.disable('two/pdf')
    expect(skills.current.find('two/pdf')).toBeUndefined()
    await skills.close()
  })
})

test('the report of a shadowed skill names the winner and the rule that decided', async () => {
  const files = { '/one/pdf/SKILL.md': text('pdf', 'First.'), '/two/pdf/SKILL.md': text('pdf', 'Second.') }
  const messages: (string | undefined)[] = []
  for (const onDuplicate of [
    'first-wins',
    'last-wins',
    (all: readonly Skill[]): Skill => all.at(-1) as Skill,
  ] as const) {
    const { skills } = await open(files, { onDuplicate })
    messages.push(
      skills.current
        .reports()
        .find(({ status }) => status === 'shadowed')
        ?.diagnostics.at(-1)?.message,
    )
    await skills.close()
  }
  expect(messages).toEqual([
    '"two/pdf" is shadowed by "one/pdf", which has the same name and is from a source that comes first',
    '"one/pdf" is shadowed by "two/pdf", which has the same name and is from a source that was chosen over it',
    '"one/pdf" is shadowed by "two/pdf", which has the same name and is from a source that was chosen over it',
  ])
})
