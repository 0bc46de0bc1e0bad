import { describe, expect, test } from 'vitest'
import { linesOf, loadSkill, openMemorySkills } from '../../../../tests/fixtures/memory-skills.ts'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import type { Digest } from '../skill/digest.ts'
import { MemorySkillStore } from '../store/memory-skill-store.ts'

/** A store that can delay one call of `get()`. */
class SlowStore extends MemorySkillStore {
  readonly #asked = Promise.withResolvers<void>()
  #released: Promise<void> | undefined

  /** Delays the next call of `get()`, and returns a function that lets it continue. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#released = promise
    return resolve
  }

  /** Resolves when the delayed call was made. */
  get isAsked(): Promise<void> {
    return this.#asked.promise
  }

  override async get(digest: Digest): Promise<Uint8Array | undefined> {
    const released = this.#released
    this.#released = undefined
    if (released !== undefined) this.#asked.resolve()
    const bytes = await super.get(digest)
    await released
    return bytes
  }
}

describe('SkillSession.offer()', () => {
  test('offer() returns the same text until the offer is committed, and returns undefined after the commit', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's' })
    expect(await session.offer()).toBeUndefined()
    it.write('maps')
    const dropped = await session.offer()
    expect(linesOf(dropped)).toEqual(['- added: maps: Does maps.'])
    expect(session.knows('maps')).toBe(false)
    const offer = await session.offer()
    expect(offer?.text).toBe(dropped?.text)
    offer?.commit()
    offer?.commit()
    expect([await session.offer(), session.pending(), session.knows('maps')]).toEqual([
      undefined,
      undefined,
      true,
    ])
  })

  test('offer() returns a frozen offer', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's' })
    it.write('maps')
    const offer = await session.offer()
    expect(Object.isFrozen(offer)).toBe(true)
    expect(offer).toMatchObject({
      generation: it.skills.current.number,
      digest: it.skills.current.digest,
      tokens: Math.ceil((offer?.text.length ?? 0) / 4),
    })
  })

  test('offer() returns the net changes after an offer that was never committed', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's' })
    it.write('maps')
    it.write('tone')
    expect(linesOf(await session.offer())).toHaveLength(2)
    it.remove('maps')
    it.write('pdf', { description: 'Reads.' })
    expect(linesOf(await session.offer())).toEqual([
      '- added: tone: Does tone.',
      '- description changed: pdf: Reads.',
    ])
    it.remove('tone')
    it.write('pdf')
    expect(await session.offer()).toBeUndefined()
  })

  test('commit() records the skills of both offers when two open offers are committed in order', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's' })
    it.write('maps')
    const first = await session.offer()
    it.write('tone')
    const second = await session.offer()
    first?.commit()
    expect([session.knows('maps'), session.knows('tone')]).toEqual([true, false])
    second?.commit()
    expect(await session.offer()).toBeUndefined()
    expect(session.generation).toBe(it.skills.current)
  })

  test('if an older offer is committed last, its message is the last word, and the next offer corrects it', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's' })
    it.write('maps', { description: 'Old.' })
    const first = await session.offer()
    it.write('maps', { description: 'New.' })
    it.write('tone')
    const second = await session.offer()
    second?.commit()
    first?.commit()
    expect(linesOf(await session.update())).toEqual(['- description changed: maps: New.'])
    expect(session.generation).toBe(it.skills.current)
    expect(await session.offer()).toBeUndefined()
  })

  test.each(['in order', 'in the other order'])(
    'two open offers: the second reports the removal of a skill that the first added, if both are committed %s',
    async order => {
      await using it = await openMemorySkills(['pdf'])
      const session = it.skills.session({ id: 's' })
      it.write('maps')
      const first = await session.offer()
      it.remove('maps')
      it.write('tone')
      const second = await session.offer()
      expect(linesOf(second)).toEqual(['- added: tone: Does tone.'])
      for (const offer of order === 'in order' ? [first, second] : [second, first]) offer?.commit()
      // The history also contains the first message, which says that there is a skill "maps".
      expect(linesOf(await session.update())).toEqual(['- removed: maps'])
      expect(await session.offer()).toBeUndefined()
    },
  )

  test('offer() reports the removal of a skill when an offer that added the skill is committed after the removal', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's' })
    it.write('maps')
    const late = await session.offer()
    it.remove('maps')
    expect(await session.offer()).toBeUndefined()
    late?.commit()
    expect(linesOf(await session.update())).toEqual(['- removed: maps'])
  })

  test('if an older offer about a loaded skill is committed last, the next offer names the newest revision', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's' })
    await loadSkill(session, 'pdf')
    it.write('pdf', { body: 'Second.' })
    const first = await session.offer()
    it.write('pdf', { body: 'Third.' })
    const second = await session.offer()
    second?.commit()
    first?.commit()
    const { revision } = it.skills.current.get('pdf')
    expect(linesOf(await session.update())).toEqual([
      expect.stringContaining(`it is now ${revision.slice(7, 15)}: load it again`),
    ])
    expect(await session.offer()).toBeUndefined()
  })

  test('commit() does not undo a load that happened between offer() and commit()', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's' })
    await loadSkill(session, 'pdf')
    it.write('pdf', { body: 'Second.' })
    const offer = await session.offer()
    it.write('pdf', { body: 'Third.' })
    await loadSkill(session, 'pdf')
    const { revision } = it.skills.current.get('pdf')
    offer?.commit()
    expect(session.ledger.find('pdf')).toMatchObject({ name: 'pdf', revision, toldRevision: revision })
    expect(await session.offer()).toBeUndefined()
  })

  test('offer() reports that loaded instructions are outdated even if an earlier offer() ended during the load', async () => {
    const store = new SlowStore()
    const files = new MemoryFileSystem()
    await using it = await openMemorySkills(['pdf'], files, { state: { store } })
    const session = it.skills.session({ id: 's' })
    const release = store.hold()
    const load = loadSkill(session, 'pdf')
    await store.isAsked
    it.write('pdf', { body: 'Second.' })
    expect(await session.offer()).toBeUndefined()
    release()
    expect(await load).toContain('Body of pdf.')
    expect(linesOf(await session.offer())).toEqual([expect.stringContaining('load it again')])
  })

  test('offer() returns an offer whose commit() has no effect after rebase()', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's' })
    it.write('maps')
    const offer = await session.offer()
    it.remove('maps')
    await session.rebase()
    const state = session.state()
    offer?.commit()
    expect(session.state()).toEqual(state)
    expect(offer?.state()).toEqual(state)
    expect(await session.offer()).toBeUndefined()
  })

  test('offer() throws after close(), but an earlier offer can still be committed', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's' })
    it.write('maps')
    const offer = await session.offer()
    session.close()
    offer?.commit()
    expect(session.state().announced.map(([name]) => name)).toEqual(['maps', 'pdf'])
    expect(session.pending()).toBeUndefined()
    for (const call of [() => session.offer(), () => session.update(), () => session.rebase()])
      await expect(call()).rejects.toMatchObject({
        code: 'CLOSED',
        message: 'the session "s" is closed; ask the runtime for a new one',
      })
  })

  test('with applyAt: turn, offer() repeats the notice in the same turn until the notice is committed', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's', applyAt: 'turn' })
    session.beginTurn()
    it.write('maps')
    const dropped = await session.offer()
    const offer = await session.offer()
    expect(offer?.text).toBe(dropped?.text)
    offer?.commit()
    it.write('tone')
    expect([await session.offer(), session.pending()]).toEqual([undefined, undefined])
    session.beginTurn()
    const next = await session.offer()
    expect(linesOf(next)).toEqual(['- added: tone: Does tone.'])
    session.beginTurn()
    next?.commit()
    it.write('more')
    // The commit belonged to the previous turn.
    expect(linesOf(await session.offer())).toEqual(['- added: more: Does more.'])
  })

  test('with rebuild, the commit of an offer replaces the catalog of the session', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's', delivery: 'rebuild' })
    await loadSkill(session, 'pdf')
    const { catalog } = session
    it.write('maps')
    it.write('pdf', { body: 'Newer.' })
    const first = await session.offer()
    expect(first?.catalog).toContain('<name>maps</name>')
    expect(session.catalog).toBe(catalog)
    it.write('tone')
    const second = await session.offer()
    first?.commit()
    second?.commit()
    expect(session.catalog).toBe(second?.catalog)
    expect(session.catalog).toContain('<name>tone</name>')
    expect(await session.offer()).toBeUndefined()
    expect(session.state().announced.map(([name]) => name)).toEqual(['maps', 'pdf', 'tone'])
  })

  test('with rebuild, if an offer is committed after its change was undone, the next offer() reports the restored revision', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's', delivery: 'rebuild' })
    await loadSkill(session, 'pdf')
    it.write('pdf', { body: 'Newer.' })
    const late = await session.offer()
    it.write('pdf')
    expect(await session.offer()).toBeUndefined()
    late?.commit()
    expect(linesOf(await session.offer())).toEqual([expect.stringMatching(/^- you loaded pdf at /)])
  })

  test('offer() returns an offer whose commit() records only the changes in its own message', async () => {
    for (const order of ['in order', 'late'] as const) {
      await using it = await openMemorySkills(['pdf'])
      const session = it.skills.session({ id: 's' })
      await loadSkill(session, 'pdf')
      it.write('pdf', { body: 'Two.' })
      ;(await session.offer())?.commit()
      it.write('pdf')
      const back = await session.offer()
      expect(linesOf(back)).toEqual([expect.stringMatching(/ again$/)])
      // Write the body "Two." again. Only the frontmatter differs from the earlier text with the body "Two.".
      it.write('pdf', {
        body: 'Two.',
        ...(order === 'in order' ? { description: 'Other.' } : { extra: 'license: MIT\n' }),
      })
      const next = await session.offer()
      expect(linesOf(next)).toEqual(order === 'in order' ? ['- description changed: pdf: Other.'] : undefined)
      back?.commit()
      next?.commit()
      expect(linesOf(await session.offer())).toEqual([expect.stringMatching(/it is now .* load it again/)])
    }
  })

  test('offer() reports the removal of a skill that was loaded before it was listed', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's' })
    it.write('maps')
    await loadSkill(session, 'maps')
    it.remove('maps')
    const update = await session.update()
    expect(linesOf(update)).toEqual(['- removed: maps'])
    expect(await session.offer()).toBeUndefined()
  })

  test('with rebuild, offer() replaces the catalog immediately if no loaded skill changed', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's', delivery: 'rebuild' })
    it.write('maps')
    expect(await session.offer()).toBeUndefined()
    expect(session.catalog).toContain('<name>maps</name>')
  })

  test.each(['silent', 'pinned'] as const)(
    'offer() returns undefined with the delivery %s',
    async delivery => {
      await using it = await openMemorySkills(['pdf'])
      const session = it.skills.session({ id: 's', delivery })
      await loadSkill(session, 'pdf')
      const { catalog } = session
      it.write('maps')
      it.write('pdf', { body: 'Newer.' })
      expect([await session.offer(), session.catalog]).toEqual([undefined, catalog])
    },
  )

  test('offer() reports the return of a loaded skill only if its removal was committed', async () => {
    await using it = await openMemorySkills(['maps', 'pdf'])
    const session = it.skills.session({ id: 's' })
    await loadSkill(session, 'pdf')
    it.remove('pdf')
    expect(linesOf(await session.offer())).toEqual(['- removed: pdf'])
    it.write('pdf')
    // The removal was never committed, so the conversation never received it.
    expect(await session.offer()).toBeUndefined()
    it.remove('pdf')
    ;(await session.offer())?.commit()
    it.write('pdf', { body: 'Newer.' })
    expect(linesOf(await session.offer())).toEqual([
      expect.stringMatching(/^- you loaded pdf at .* load it again before relying on it$/),
      '- added: pdf: Does pdf.',
    ])
  })

  test('update() returns a change only once, even if two calls run concurrently', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 's' })
    it.write('maps')
    const updates = await Promise.all([session.update(), session.update()])
    expect(updates.filter(update => update !== undefined)).toHaveLength(1)
  })

  test('offer() returns an offer whose state() equals the state of the session after the commit', async () => {
    await using it = await openMemorySkills(['pdf', 'tone'])
    const session = it.skills.session({ id: 's' })
    await loadSkill(session, 'pdf')
    await loadSkill(session, 'tone')
    it.write('maps')
    it.write('pdf', { body: 'Newer.' })
    it.remove('tone')
    const before = session.state()
    const offer = await session.offer()
    const after = offer?.state()
    expect(session.state()).toEqual(before)
    offer?.commit()
    expect(after).toEqual(session.state())
    expect(offer?.state()).toEqual(after)
    expect(after).not.toEqual(before)
  })
})
