import { describe, expect, test } from 'vitest'
import { linesOf, loadSkill, openMemorySkills } from '../../../../tests/fixtures/memory-skills.ts'

describe('SkillSession.revert()', () => {
  test('revert() lets offer() repeat the notice of a dropped turn, even if that turn loaded the skill again', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's' })
    await loadSkill(session, 'pdf')
    const before = session.state()
    it.write('pdf', { body: 'Newer.' })
    const offer = await session.offer()
    await loadSkill(session, 'pdf')
    session.revert(before)
    expect(session.active).toMatchObject([{ name: 'pdf' }]) // loaded before, in the same turn
    expect((await session.offer())?.text).toBe(offer?.text)
    // The commit of an offer from the dropped turn has no effect.
    offer?.commit()
    const again = await session.offer()
    expect(again?.text).toBe(offer?.text)
    again?.commit()
    expect(await session.offer()).toBeUndefined()
  })

  test('a restored state has the active skills of its turn', async () => {
    await using it = await openMemorySkills(['pdf', 'tone'])
    let session = it.skills.session({ id: 's' })
    const names = (): readonly string[] => session.active.map(({ name }) => name)
    await loadSkill(session, 'pdf')
    const stored = session.state()
    await loadSkill(session, 'tone')
    session.revert(stored)
    expect(names()).toEqual(['pdf'])
    session.close()
    session = it.skills.session({ id: 's', resume: JSON.parse(JSON.stringify(stored)) })
    expect(names()).toEqual(['pdf'])
    session.beginTurn()
    expect([names(), session.state().active]).toEqual([[], undefined])
    session.close()
    session = it.skills.session({ id: 's', resume: stored, scope: { exclude: ['pdf'] } })
    expect(names()).toEqual([])
  })

  test('revert() forgets the notices and the loaded skills of the dropped turn', async () => {
    await using it = await openMemorySkills(['pdf', 'tone'])
    const session = it.skills.session({ id: 's' })
    const before = session.state()
    const { catalog } = session
    await loadSkill(session, 'tone')
    it.write('maps')
    await session.update()
    session.revert(before)
    expect([session.catalog, session.ledger.entries(), session.knows('maps')]).toEqual([catalog, [], false])
    expect(linesOf(await session.update())).toEqual(['- added: maps: Does maps.'])
  })

  test('revert() undoes rebase() and restores the earlier catalog', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's' })
    const before = session.state()
    const { catalog } = session
    it.write('maps')
    await session.rebase()
    expect(session.catalog).not.toBe(catalog)
    session.revert(before)
    expect(session.catalog).toBe(catalog)
    expect(linesOf(await session.offer())).toEqual(['- added: maps: Does maps.'])
  })

  test('with applyAt: turn, revert() lets offer() repeat the notice in the same turn', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's', applyAt: 'turn' })
    session.beginTurn()
    const before = session.state()
    it.write('maps')
    const told = await session.update()
    session.revert(before)
    expect((await session.update())?.text).toBe(told?.text)
  })

  test('revert() throws for a damaged state or a closed session, and does not change the session', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's' })
    await loadSkill(session, 'pdf')
    const before = session.state()
    expect(() => session.revert({ ...before, ledger: [{}] as never })).toThrow('ledger[0].name is missing')
    expect(session.state()).toEqual(before)
    session.close()
    expect(() => session.revert(before)).toThrow('the session "s" is closed')
  })
})
