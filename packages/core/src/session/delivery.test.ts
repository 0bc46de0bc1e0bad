import { verifies } from '@skillstoke/requirements'
import { describe, expect, test } from 'vitest'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import { FileSource } from '../source/file-source.ts'
import { NO_SETTLE } from '../source/settle.ts'
import { withLiveSystem } from './live-system.ts'
import type { SessionState } from './session-state.ts'
import type { SkillSession } from './skill-session.ts'

const text = (name: string, description = `Does ${name}.`, body = `Body of ${name}.`, extra = ''): string =>
  `---\nname: ${name}\ndescription: ${description}\n${extra}---\n${body}\n`

interface Harness extends AsyncDisposable {
  readonly files: MemoryFileSystem
  readonly skills: SkillRuntime
}

async function open(names: readonly string[]): Promise<Harness> {
  const files = new MemoryFileSystem({ '/skills/.keep': '' })
  for (const name of names) files.write(`/skills/${name}/SKILL.md`, text(name))
  return await openOn(files)
}

async function openOn(files: MemoryFileSystem): Promise<Harness> {
  const source = new FileSource({ fileSystem: files, root: '/skills', label: 'skills' })
  const skills = await createSkillRuntime({ sources: [source], tuning: { settle: NO_SETTLE } })
  return { files, skills, [Symbol.asyncDispose]: () => skills.close() }
}

const load = async (session: SkillSession, name: string): Promise<string> =>
  (await session.tools[0]?.execute({ name }))?.text ?? ''

describe('delivery', () => {
  test(`delivery: rebuild renders a new catalog at every update, and limits notices to loaded skills ${verifies('P05', 'EXO-03')}`, async () => {
    await using it = await open(['pdf'])
    const session = it.skills.session({ id: 's', delivery: 'rebuild' })
    await load(session, 'pdf')
    const before = session.catalog
    it.files.write('/skills/maps/SKILL.md', text('maps'))
    expect(session.catalog).toBe(before)
    expect(await session.update()).toBeUndefined()
    expect(session.catalog).toContain('<name>maps</name>')
    it.files.write('/skills/pdf/SKILL.md', text('pdf', undefined, 'Newer.'))
    expect((await session.update())?.text).toMatch(
      /^<skills_update .*>\n- you loaded pdf at .*\n<\/skills_update>$/,
    )
  })

  test(`with delivery: silent, no notice is sent, and the skill tool still returns the newest revision ${verifies('P05')}`, async () => {
    await using it = await open(['pdf'])
    const session = it.skills.session({ id: 's', delivery: 'silent' })
    await load(session, 'pdf')
    const before = session.catalog
    it.files.write('/skills/maps/SKILL.md', text('maps'))
    it.files.write('/skills/pdf/SKILL.md', text('pdf', 'Other.', 'Newer.'))
    expect(await session.update()).toBeUndefined()
    expect(session.catalog).toBe(before)
    expect(await load(session, 'pdf')).toContain('Newer.')
  })

  test(`delivery: pinned keeps one generation until rebase(), and the tools also answer from this generation ${verifies('P05', 'PROMISE-4')}`, async () => {
    await using it = await open(['maps', 'pdf'])
    const session = it.skills.session({ id: 's', delivery: 'pinned' })
    it.files.write('/skills/pdf/SKILL.md', text('pdf', 'Other.', 'Newer.'))
    it.files.remove('/skills/maps')
    it.files.write('/skills/new/SKILL.md', text('new'))
    await it.skills.fresh()
    expect([await session.update(), session.pending()]).toEqual([undefined, undefined])
    expect(await load(session, 'pdf')).toContain('Body of pdf.')
    expect(await load(session, 'maps')).toContain('Body of maps.')
    expect(await load(session, '')).toBe('- maps: Does maps.\n- pdf: Does pdf.')
    expect(await load(session, 'new')).toContain('no skill "new"')
    const { catalog, dropped } = await session.rebase()
    expect(catalog).toContain('<name>new</name>')
    expect(dropped).toEqual(['maps'])
    expect(await load(session, 'pdf')).toContain('Newer.')
  })

  test(`applyAt: turn sends at most one notice per turn ${verifies('P05', 'PAI-04')}`, async () => {
    await using it = await open(['pdf'])
    const session = it.skills.session({ id: 's', applyAt: 'turn' })
    session.beginTurn()
    expect(await session.update()).toBeUndefined()
    it.files.write('/skills/maps/SKILL.md', text('maps'))
    expect(await session.update()).toBeUndefined()
    session.beginTurn()
    expect((await session.update())?.text).toContain('- added: maps')
  })
})

describe('allowedTools', () => {
  const files = (extra: string): MemoryFileSystem =>
    new MemoryFileSystem({
      '/skills/pdf/SKILL.md': text('pdf', undefined, undefined, extra),
      '/skills/free/SKILL.md': text('free'),
    })

  test(`allowedTools: advise shows the allowed tools to the model, and allowedTools: ignore hides them ${verifies('P30', 'CRAB-17')}`, async () => {
    await using it = await openOn(files('allowed-tools: Read Bash(git:*)\n'))
    const advised = it.skills.session({ id: 'a' })
    expect(await load(advised, 'pdf')).toContain('\nTools that the skill is written for: Read, Bash(git:*)')
    expect(advised.checkTool('Write', {})).toBeUndefined()
    const ignoring = it.skills.session({ id: 'b', allowedTools: 'ignore' })
    expect(await load(ignoring, 'pdf')).not.toContain('Read')
  })

  test(`allowedTools: enforce refuses tools that the active skill does not list, until the turn ends ${verifies('P30', 'CRAB-17')}`, async () => {
    await using it = await openOn(files('allowed-tools: Read Bash(git:*)\n'))
    const session = it.skills.session({ id: 's', allowedTools: 'enforce' })
    session.beginTurn()
    expect(session.checkTool('Write', {})).toBeUndefined()
    expect(await load(session, 'pdf')).toContain(
      '\nOnly these tools may be called until the turn ends: Read,',
    )
    expect(session.checkTool('Write', { path: 'a' })).toBe(
      'the tool "Write" may not be called in this way while "pdf" is active; allowed: Read, Bash(git:*)',
    )
    expect(session.checkTool('Bash', { command: 'rm -rf /' })).toContain('"Bash" may not be called')
    expect(session.checkTool('Bash', { command: 'git log' })).toBeUndefined()
    expect(session.checkTool('skill', {})).toBeUndefined()
    await load(session, 'free')
    expect(session.checkTool('Write', {})).toBeDefined()
    it.files.write('/skills/wide/SKILL.md', text('wide', undefined, undefined, 'allowed-tools: "*"\n'))
    await load(session, 'wide')
    expect(session.checkTool('Write', {})).toBeDefined()
    session.beginTurn()
    expect(session.checkTool('Write', {})).toBeUndefined()
    await session.expandSlash('/pdf')
    expect(session.checkTool('Write', {})).toBeDefined()
  })

  test(`allowedTools: enforce refuses tools in disallowed-tools, until the turn ends ${verifies('P30')}`, async () => {
    for (const field of [
      'disallowed-tools: Write, Bash(rm:*)\n',
      'disallowed-tools: [Write, "Bash(rm:*)"]\n',
    ]) {
      await using it = await openOn(files(field))
      const session = it.skills.session({ id: 's', allowedTools: 'enforce' })
      session.beginTurn()
      expect(await load(session, 'pdf')).toContain(
        '\nThese tools may not be called until the turn ends: Write, Bash(rm:*)',
      )
      expect(session.checkTool('Write', {})).toBe(
        'the tool "Write" may not be called in this way while "pdf" is active; not allowed: Write, Bash(rm:*)',
      )
      expect(session.checkTool('Bash', { command: 'rm x' })).toBeDefined()
      expect(session.checkTool('Read', { path: 'a' })).toBeUndefined()
      session.beginTurn()
      expect(session.checkTool('Write', {})).toBeUndefined()
      const advised = it.skills.session({ id: 'a' })
      expect(await load(advised, 'pdf')).toContain('\nTools that the skill works without: Write,')
      expect(advised.checkTool('Write', {})).toBeUndefined()
    }
  })

  test.each(['disallowed-tools: [a] b\n', 'disallowed-tools: { a: b }\n', 'disallowed-tools: 5\n'])(
    'allowedTools: enforce refuses every tool if the field is unclear: %j',
    async field => {
      await using it = await openOn(files(field))
      const session = it.skills.session({ id: 's', allowedTools: 'enforce' })
      await load(session, 'pdf')
      expect(session.checkTool('Read', { path: 'a' })).toBeDefined()
    },
  )

  test(`allowed-tools may be a list or a comma-separated text ${verifies('CRAB-X06')}`, async () => {
    for (const extra of ['allowed-tools: [Read, "Bash(git:*)"]\n', 'allowed-tools: Read, Bash(git:*)\n']) {
      await using it = await openOn(files(extra))
      expect(it.skills.current.get('pdf').allowedTools).toEqual(['Read', 'Bash(git:*)'])
    }
  })
})

test(`describeUnknownTool() explains how to load a skill when a model calls the skill like a tool ${verifies('FOX-B08', 'P28')}`, async () => {
  await using it = await open(['code-interpreter', 'hidden'])
  const session = it.skills.session({ id: 's', scope: { exclude: ['hidden'] } })
  expect(session.describeUnknownTool('code-interpreter', ['skill'])).toBe(
    'there is no tool "code-interpreter": it is a skill; call the tool "skill" with {"name":"code-interpreter"} and follow its instructions',
  )
  expect(session.describeUnknownTool('hidden', ['skill', 'ask'])).toBe(
    'there is no tool "hidden"; the tools are "skill", "ask"',
  )
})

test(`for an unknown name, lookup() suggests skills, find() returns undefined, and get() lists the names ${verifies('P28')}`, async () => {
  await using it = await open(['maps', 'pdf'])
  expect(await it.skills.lookup('pdf')).toMatchObject({ kind: 'loaded', body: 'Body of pdf.' })
  expect(await it.skills.lookup('what does it do')).toMatchObject({
    kind: 'matches',
    skills: [{ name: 'maps' }, { name: 'pdf' }],
  })
  expect(await it.skills.lookup('OES MAP')).toMatchObject({ kind: 'matches', skills: [{ name: 'maps' }] })
  expect(await it.skills.lookup('xyz')).toMatchObject({ kind: 'not-found', available: 2 })
  expect(await it.skills.lookup('pdf', { scope: { include: ['maps'] } })).toMatchObject({ kind: 'not-found' })
  expect(it.skills.current.find('xyz')).toBeUndefined()
  expect(() => it.skills.current.get('xyz')).toThrow(
    expect.objectContaining({
      code: 'SKILL_NOT_FOUND',
      data: { name: 'xyz', available: ['maps', 'pdf'] },
    }),
  )
})

describe('SessionOptions.resume', () => {
  /** Converts the state to JSON and back, as a store on disk does. */
  const stored = (session: SkillSession): SessionState => JSON.parse(JSON.stringify(session.state()))

  test('resume continues a conversation in another process with the old catalog, and reports the net changes', async () => {
    const first = await open(['maps', 'pdf', 'tone'])
    const session = first.skills.session({ id: 's' })
    await load(session, 'pdf')
    const state = stored(session)
    await first.skills.close()
    first.files.remove('/skills/tone')
    first.files.write('/skills/new/SKILL.md', text('new'))
    first.files.write('/skills/maps/SKILL.md', text('maps', 'Other.'))
    first.files.write('/skills/pdf/SKILL.md', text('pdf', undefined, 'Newer.'))
    await using it = await openOn(first.files)
    const resumed = it.skills.session({ id: 's', resume: state })
    expect(resumed.catalog).toBe(session.catalog)
    expect(resumed.state()).toEqual(state)
    const lines = (await resumed.update())?.text.split('\n').slice(1, -1)
    expect(lines).toEqual([
      expect.stringMatching(/^- you loaded pdf at .* load it again/),
      '- removed: tone',
      '- added: new: Does new.',
      '- description changed: maps: Other.',
    ])
    expect(await resumed.update()).toBeUndefined()
    expect(resumed.state().announced.map(([name]) => name)).toEqual(['maps', 'new', 'pdf'])
  })

  test('a resumed session reports nothing if no skill changed meanwhile, and can still read old revisions', async () => {
    await using it = await open(['pdf'])
    const session = it.skills.session({ id: 's' })
    await load(session, 'pdf')
    const { revision } = it.skills.current.get('pdf')
    const resumed = it.skills.session({ id: 's', resume: stored(session) })
    expect(await resumed.update()).toBeUndefined()
    it.files.write('/skills/pdf/SKILL.md', text('pdf', undefined, 'Newer.'))
    await it.skills.fresh()
    const old = await resumed.tools[1]?.execute({ skill: 'pdf', path: 'SKILL.md', revision })
    expect(old?.text).toContain('Body of pdf.')
  })

  test('a resumed session reports a loaded skill as removed if its scope excludes the skill', async () => {
    await using it = await open(['pdf', 'secret'])
    const session = it.skills.session({ id: 's' })
    await load(session, 'secret')
    const resumed = it.skills.session({ id: 's', scope: { include: ['pdf'] }, resume: stored(session) })
    it.files.write('/skills/secret/SKILL.md', text('secret', undefined, 'Newer.'))
    expect((await resumed.update())?.text.split('\n').slice(1, -1)).toEqual(['- removed: secret'])
    expect(resumed.ledger.entries()).toEqual([])
  })

  test('resume refuses a malformed state', async () => {
    await using it = await open(['pdf'])
    for (const state of [{ version: 2 }, { version: 1 }, {}])
      expect(() => it.skills.session({ id: 's', resume: state as SessionState })).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTION' }),
      )
  })
})

test(`withLiveSystem() copies the messages and replaces the system message at any position ${verifies('FOX-X03', 'FOX-07', 'P16')}`, () => {
  const user = { role: 'user', content: 'hello' }
  const stored = [user, { role: 'system', content: 'old' }, user]
  expect(withLiveSystem(stored, 'new')).toEqual([user, { role: 'system', content: 'new' }, user])
  expect(stored[1]?.content).toBe('old')
  expect(withLiveSystem([user], 'new')).toEqual([{ role: 'system', content: 'new' }, user])
})
