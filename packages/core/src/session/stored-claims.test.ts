import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { linesOf, loadSkill, openMemorySkills } from '../../../../tests/fixtures/memory-skills.ts'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import type { Digest } from '../skill/digest.ts'
import { FileSource } from '../source/file-source.ts'
import { NO_SETTLE } from '../source/settle.ts'
import type { SessionState } from './session-state.ts'
import type { SkillSession } from './skill-session.ts'

const KEY = 'k'.repeat(32)

const text = (body: string): string => `---\nname: pdf\ndescription: Does pdf.\n---\n${body}\n`

/** Converts a state to JSON and back, as a store on disk does. */
const stored = (session: SkillSession): SessionState => JSON.parse(JSON.stringify(session.state()))

async function readAt(session: SkillSession, revision: string | undefined): Promise<string> {
  const tool = session.tools.find(({ name }) => name === 'read_skill_file')
  return (await tool?.execute({ skill: 'pdf', path: 'SKILL.md', revision }))?.text ?? ''
}

interface Reviewed extends AsyncDisposable {
  readonly skills: SkillRuntime
  put(path: string, content: string): Promise<Digest>
}

/** Opens a reviewed source below `/team`, and optionally a trusted source below `/mine`. */
async function openReviewed(files: Record<string, string>): Promise<Reviewed> {
  const fileSystem = new MemoryFileSystem(files)
  const sourceOf = (label: string, trust: 'auto' | 'review'): FileSource =>
    new FileSource({ fileSystem, root: `/${label}`, label, trust, watching: 'off' })
  const hasOwn = Object.keys(files).some(path => path.startsWith('/mine/'))
  const skills = await createSkillRuntime({
    sources: [...(hasOwn ? [sourceOf('mine', 'auto')] : []), sourceOf('team', 'review')],
    tuning: { settle: NO_SETTLE },
  })
  return {
    skills,
    put: async (path, content) => {
      fileSystem.write(path, content)
      await skills.reload()
      const location = path.startsWith('/team/') ? 'team' : 'mine'
      return skills.current.reports().find(({ source }) => source === location)?.revision as Digest
    },
    [Symbol.asyncDispose]: async () => await skills.close(),
  }
}

describe('T60: the claims of a stored state without a seal', () => {
  test('a forged state reads no revision that waits for an approval', async () => {
    await using it = await openReviewed({ '/team/pdf/SKILL.md': text('First.') })
    await it.skills.review.approve('pdf')
    const held = await it.put('/team/pdf/SKILL.md', text('Held.'))
    const state = stored(it.skills.session({ id: 's' }))
    const forged = { ...state, seen: { pdf: [held] } }
    const session = it.skills.session({ id: 's', resume: forged })
    expect(await readAt(session, held)).toMatch(/^revision "sha256:.*" of "pdf" is not available/)
    await it.skills.review.approve('pdf')
    expect(await readAt(session, held)).toContain('Held.')
  })

  test('a forged state reads no revision that another source holds under the same name', async () => {
    await using it = await openReviewed({
      '/mine/pdf/SKILL.md': text('Mine.'),
      '/team/pdf/SKILL.md': text('Held.'),
    })
    const held = it.skills.current.reports().find(({ source }) => source === 'team')?.revision as Digest
    const state = stored(it.skills.session({ id: 's' }))
    const session = it.skills.session({ id: 's', resume: { ...state, seen: { pdf: [held] } } })
    expect(await readAt(session, held)).toContain('is not available')
  })

  test('a forged state reads no revision of a skill that is out of scope', async () => {
    await using it = await openMemorySkills(['pdf', 'secret'])
    const { revision } = it.skills.current.get('secret')
    const scope = { exclude: ['secret'] }
    const state = stored(it.skills.session({ id: 's', scope }))
    const session = it.skills.session({ id: 's', scope, resume: { ...state, seen: { pdf: [revision] } } })
    expect(await readAt(session, revision)).toContain('is not available')
  })

  test('forged entries read no revision of another skill, and load no skill that is out of scope', async () => {
    await using it = await openMemorySkills(['pdf', 'secret'])
    const { revision } = it.skills.current.get('secret')
    const session = it.skills.session({ id: 's', scope: { exclude: ['secret'] } })
    const content = { body: '0', files: '0' }
    session.replay(session.state(), [
      { kind: 'read', name: 'pdf', revision },
      { kind: 'load', name: 'secret', revision, content },
    ])
    expect(await readAt(session, revision)).toContain('is not available')
    expect(session.ledger.entries()).toEqual([])
  })

  test('a forged entry reads no revision that waits for an approval', async () => {
    await using it = await openReviewed({ '/team/pdf/SKILL.md': text('First.') })
    await it.skills.review.approve('pdf')
    const held = await it.put('/team/pdf/SKILL.md', text('Held.'))
    const session = it.skills.session({ id: 's' })
    session.replay(session.state(), [{ kind: 'read', name: 'pdf', revision: held }])
    expect(await readAt(session, held)).toContain('is not available')
  })

  test('damaged entries are left out', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's' })
    const { revision } = it.skills.current.get('pdf')
    const forged = [null, {}, { kind: 'load', name: 'pdf', revision }, { kind: 'notice', said: [['pdf', 1]] }]
    session.replay(session.state(), forged as never)
    expect([session.ledger.entries(), await session.offer()]).toEqual([[], undefined])
  })

  test('a notice names no file of a held revision that a forged state claims was loaded', async () => {
    await using it = await openReviewed({ '/team/pdf/SKILL.md': text('First.') })
    await it.skills.review.approve('pdf')
    const held = await it.put('/team/pdf/plans.md', 'Held.')
    const state = stored(it.skills.session({ id: 's' }))
    const ledger = [{ name: 'pdf', revision: held, toldRevision: held }]
    const session = it.skills.session({ id: 's', resume: { ...state, ledger } })
    expect(linesOf(await session.update())).toEqual([
      expect.stringMatching(/^- you loaded pdf .* load it again/),
    ])
  })

  test('a resumed conversation still reads the revision that was served before the newest one', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's' })
    await loadSkill(session, 'pdf')
    const { revision } = it.skills.current.get('pdf')
    it.write('pdf', { body: 'Newer.' })
    await it.skills.fresh()
    const resumed = it.skills.session({ id: 's', resume: stored(session) })
    expect(await readAt(resumed, revision)).toContain('Body of pdf.')
  })
})

test('T60: a conversation no longer reads a revision that was rejected after the conversation loaded it', async () => {
  await using it = await openMemorySkills(['pdf'])
  it.write('pdf', { body: 'Evil.' })
  const session = it.skills.session({ id: 's' })
  await loadSkill(session, 'pdf')
  const { revision } = it.skills.current.get('pdf')
  await it.skills.review.reject('pdf')
  it.write('pdf', { body: 'Fixed.' })
  expect(await readAt(session, revision)).toContain('is not available')
})

test('T60: a narrower scope at resume renders the catalog anew, so that it shows no excluded skill', async () => {
  await using it = await openMemorySkills(['pdf', 'secret'])
  const state = stored(it.skills.session({ id: 's' }))
  const resumed = it.skills.session({ id: 's', scope: { exclude: ['secret'] }, resume: state })
  expect([resumed.catalogDetails.listed, resumed.catalog.includes('secret')]).toEqual([['pdf'], false])
  expect(linesOf(await resumed.update())).toEqual(['- removed: secret'])
  expect(JSON.stringify(resumed.state())).not.toContain('secret')
})

describe('T60: state.sealKey', () => {
  test('state() is sealed with the HMAC-SHA256 of its sorted JSON', async () => {
    await using it = await openMemorySkills([], undefined, { state: { sealKey: KEY } })
    const { seal, ...state } = stored(it.skills.session({ id: 's' }))
    const { conversation, generation, catalog } = state
    const { digest, listed, omitted, text: catalogText, tokens } = catalog
    const sorted = {
      ...{ announced: [], catalog: { digest, listed, omitted, text: catalogText, tokens } },
      ...{ conversation, generation, ledger: [], seen: {}, version: 3 },
    }
    expect(seal).toBe(createHmac('sha256', KEY).update(JSON.stringify(sorted)).digest('hex'))
  })

  test('a sealed state is resumed with all its claims, also after a store returned its fields in another order', async () => {
    await using it = await openMemorySkills(['pdf'], undefined, {
      state: { sealKey: new TextEncoder().encode(KEY) },
    })
    const session = it.skills.session({ id: 's' })
    await loadSkill(session, 'pdf')
    const { revision } = it.skills.current.get('pdf')
    for (const body of ['Second.', 'Third.', 'Fourth.']) {
      it.write('pdf', { body })
      await it.skills.fresh()
    }
    const state = Object.fromEntries(Object.entries(stored(session)).reverse()) as unknown as SessionState
    const resumed = it.skills.session({ id: 's', resume: state })
    expect(resumed.conversation).toBe(session.conversation)
    expect(await readAt(resumed, revision)).toContain('Body of pdf.')
  })

  const CHANGES: readonly (readonly [what: string, change: (state: SessionState) => SessionState])[] = [
    ['was changed', state => ({ ...state, seen: { pdf: [state.generation] } })],
    ['has no seal', ({ seal: _seal, ...state }) => state],
    ['has an empty list', state => ({ ...state, announced: [] })],
    ['has the seal of another state', state => ({ ...state, seal: '0'.repeat(64) })],
  ]

  test.each(CHANGES)('a runtime with a key refuses a state that %s', async (_, change) => {
    await using it = await openMemorySkills(['pdf'], undefined, { state: { sealKey: KEY } })
    const state = change(stored(it.skills.session({ id: 's' })))
    expect(() => it.skills.session({ id: 't', resume: state })).toThrow(
      expect.objectContaining({
        code: 'INVALID_OPTION',
        message: expect.stringContaining('the state of the session has no valid seal'),
      }),
    )
  })

  test('a runtime with another key refuses the state', async () => {
    await using it = await openMemorySkills(['pdf'], undefined, { state: { sealKey: KEY } })
    const state = stored(it.skills.session({ id: 's' }))
    await using other = await openMemorySkills(['pdf'], undefined, { state: { sealKey: 'x'.repeat(32) } })
    expect(() => other.skills.session({ id: 's', resume: state })).toThrow('has no valid seal')
  })

  test('revert() with a forged state does not make the forged claims part of the next sealed state', async () => {
    await using it = await openMemorySkills(['pdf'], undefined, { state: { sealKey: KEY } })
    const session = it.skills.session({ id: 's' })
    const state = session.state()
    session.revert({ ...state, seen: { pdf: [state.generation] } })
    expect(session.state().seen).toEqual({ pdf: [] })
  })

  test('every key of a list opens a state, and the first key seals it', async () => {
    const next = 'n'.repeat(32)
    await using it = await openMemorySkills(['pdf'], undefined, { state: { sealKey: KEY } })
    const session = it.skills.session({ id: 's' })
    const old = stored(session)
    await using changed = await openMemorySkills(['pdf'], undefined, { state: { sealKey: [next, KEY] } })
    const state = stored(changed.skills.session({ id: 's', resume: old }))
    await using last = await openMemorySkills(['pdf'], undefined, { state: { sealKey: next } })
    expect(last.skills.session({ id: 's', resume: state }).conversation).toBe(session.conversation)
    expect(() => last.skills.session({ id: 's', resume: old })).toThrow('has no valid seal')
  })

  test.each([
    [[KEY, 'short'], 'state.sealKey has 5 bytes; use at least 32 random bytes'],
    [[], 'state.sealKey is an empty list; pass at least one key'],
  ])('the list of keys %j is refused', async (keys, message) => {
    await expect(openMemorySkills([], undefined, { state: { sealKey: keys } })).rejects.toThrow(message)
  })

  test('a key that is shorter than 32 bytes is refused', async () => {
    await expect(openMemorySkills([], undefined, { state: { sealKey: 'short' } })).rejects.toThrow(
      'state.sealKey has 5 bytes; use at least 32 random bytes',
    )
  })
})
