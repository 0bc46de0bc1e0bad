import { describe, expect, test } from 'vitest'
import { linesOf, loadSkill, openMemorySkills } from '../../../../tests/fixtures/memory-skills.ts'
import { portableHasher } from '../host.ts'
import { digestOf } from '../skill/digest.ts'
import type { SessionState } from './session-state.ts'
import type { SkillSession } from './skill-session.ts'

/** Converts the state to JSON and back, as a store on disk does. */
const stored = (session: SkillSession): SessionState => JSON.parse(JSON.stringify(session.state()))

async function createState(): Promise<SessionState> {
  await using it = await openMemorySkills(['maps', 'pdf'])
  using session = it.skills.session({ id: 's' })
  await loadSkill(session, 'pdf')
  return stored(session)
}

describe('SkillSession.state()', () => {
  test('state() returns the same frozen catalog at each call, with the digest of its text', async () => {
    await using it = await openMemorySkills(['maps', 'pdf'])
    const session = it.skills.session({ id: 's' })
    const { version, catalog } = session.state()
    const { text, tokens, listed, omitted } = session.catalogDetails
    expect([version, catalog]).toEqual([
      3,
      { digest: digestOf(text, portableHasher), text, tokens, listed, omitted },
    ])
    expect(session.state().catalog).toBe(catalog)
  })

  test('state() lists only the newest hundred revisions of a skill that was loaded after every edit', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's' })
    const revisions: string[] = []
    for (let i = 0; i < 120; i++) {
      it.write('pdf', { body: `Body ${i}.` })
      await loadSkill(session, 'pdf')
      revisions.push(it.skills.current.get('pdf').revision)
    }
    expect(stored(session).seen['pdf']).toEqual(revisions.slice(-100))
  })

  test('state() contains the newest catalog after rebase()', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's' })
    it.write('maps')
    await session.rebase()
    expect(stored(session).catalog.text).toContain('<name>maps</name>')
  })
})

describe('SessionOptions.resume', () => {
  test('resume copies the given state, so that the session and the state share no data', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's' })
    const { listed } = session.state().catalog
    expect(() => (listed as string[]).push('forged')).toThrow(TypeError)
    const state = structuredClone(session.state())
    const resumed = it.skills.session({ id: 's', resume: state })
    ;(state.announced as [string, string][]).length = 0
    Object.assign(state.catalog ?? {}, { listed: ['forged'] })
    expect(await resumed.offer()).toBeUndefined()
    expect(resumed.catalogDetails.listed).toEqual(['pdf'])
  })

  test('resume refuses values that JSON cannot represent', async () => {
    await using it = await openMemorySkills(['pdf'])
    const state = it.skills.session({ id: 's' }).state()
    expect(() => it.skills.session({ id: 's', resume: { ...state, generation: 1n } as never })).toThrow(
      'generation is 1n; expected',
    )
  })

  test('a resumed conversation keeps its catalog byte for byte until rebase()', async () => {
    await using it = await openMemorySkills(['maps', 'pdf'])
    const session = it.skills.session({ id: 's' })
    const { catalog, catalogDetails } = session
    it.remove('maps')
    it.write('tone')
    const state = stored(session)
    const resumed = it.skills.session({ id: 's', resume: state })
    expect([resumed.catalog, resumed.catalogDetails]).toEqual([catalog, catalogDetails])
    expect([resumed.knows('maps'), resumed.knows('tone'), resumed.state()]).toEqual([true, false, state])
    expect(linesOf(await resumed.offer())).toEqual(['- removed: maps', '- added: tone: Does tone.'])
    await resumed.update()
    expect(resumed.catalog).toBe(catalog)
    // The history already contains the difference, so a second resume reports nothing.
    const again = it.skills.session({ id: 's', resume: stored(resumed) })
    expect([await again.offer(), again.catalog]).toEqual([undefined, catalog])
    expect((await again.rebase()).catalog).toContain('<name>tone</name>')
  })

  test('explain() reports that a resumed conversation does not know a new skill yet', async () => {
    await using it = await openMemorySkills(['pdf'])
    const state = stored(it.skills.session({ id: 's' }))
    it.write('tone')
    await it.skills.fresh()
    const resumed = it.skills.session({ id: 's', resume: state })
    expect(it.skills.explain('tone', resumed).steps.at(-1)).toMatchObject({ step: 'listed', ok: false })
    await resumed.update()
    expect(it.skills.explain('tone', resumed).steps.at(-1)).toMatchObject({ step: 'loaded', ok: false })
  })

  test('resume pins a stored pinned conversation to the current generation, and reports the changes once', async () => {
    await using it = await openMemorySkills(['maps', 'pdf'])
    const state = stored(it.skills.session({ id: 's', delivery: 'pinned' }))
    it.remove('maps')
    await it.skills.fresh()
    const resumed = it.skills.session({ id: 's', delivery: 'pinned', resume: state })
    it.write('tone')
    expect(resumed.catalog).toBe(state.catalog.text)
    expect(linesOf(await resumed.update())).toEqual(['- removed: maps'])
    expect(await resumed.update()).toBeUndefined()
  })

  const damaged: readonly (readonly [field: string, change: (state: SessionState) => unknown])[] = [
    ['it is null', () => null],
    ['it is [', state => [state]],
    ['version is 2', state => ({ ...state, version: 2 })],
    ['version is missing', () => ({})],
    ['generation is "sha256:12"', state => ({ ...state, generation: 'sha256:12' })],
    ['announced is {}', state => ({ ...state, announced: {} })],
    ['announced[0] is "pdf"', state => ({ ...state, announced: ['pdf'] })],
    [
      'announced[1] is ["pdf",1]',
      state => ({
        ...state,
        announced: [
          ['a', 'b'],
          ['pdf', 1],
        ],
      }),
    ],
    ['ledger is missing', state => ({ ...state, ledger: undefined })],
    ['ledger[0] is 5', state => ({ ...state, ledger: [5] })],
    ['ledger[0].name is ""', state => ({ ...state, ledger: [{ ...state.ledger[0], name: '' }] })],
    ['ledger[0].revision is "x"', state => ({ ...state, ledger: [{ ...state.ledger[0], revision: 'x' }] })],
    [
      'ledger[0].toldRevision is null',
      state => ({ ...state, ledger: [{ ...state.ledger[0], toldRevision: null }] }),
    ],
    ['seen is []', state => ({ ...state, seen: [] })],
    ['seen["pdf"] is "x"', state => ({ ...state, seen: { pdf: 'x' } })],
    ['seen["pdf"][0] is 1', state => ({ ...state, seen: { pdf: [1] } })],
    ['catalog is missing', state => ({ ...state, catalog: undefined })],
    ['catalog.text is 1', state => ({ ...state, catalog: { ...state.catalog, text: 1 } })],
    ['catalog.tokens is null', state => ({ ...state, catalog: { ...state.catalog, tokens: null } })],
    ['catalog.listed is "x"', state => ({ ...state, catalog: { ...state.catalog, listed: 'x' } })],
    ['catalog.omitted[0] is 1', state => ({ ...state, catalog: { ...state.catalog, omitted: [1] } })],
    ['catalog.digest is "sha256:', state => ({ ...state, catalog: { ...state.catalog, text: 'Other.' } })],
  ]

  test.each(damaged)('resume refuses a damaged state: %s', async (message, change) => {
    const state = change(await createState()) as SessionState
    await using it = await openMemorySkills(['pdf'])
    expect(() => it.skills.session({ id: 's', resume: state })).toThrow(
      expect.objectContaining({
        code: 'INVALID_OPTION',
        message: expect.stringContaining(`the state of the session is damaged: ${message}`),
      }),
    )
    expect(it.skills.sessions()).toEqual([])
  })

  test('a damaged state does not close the open session with the same id', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's' })
    expect(() => it.skills.session({ id: 's', resume: {} as SessionState })).toThrow('is damaged')
    expect([session.isClosed, it.skills.sessions()]).toEqual([false, [session]])
  })
})
