import { describe, expect, test } from 'vitest'
import {
  linesOf,
  loadSkill,
  type MemorySkills,
  openMemorySkills,
} from '../../../../tests/fixtures/memory-skills.ts'
import { shortDigest } from '../skill/digest.ts'
import { MemorySkillStore } from '../store/memory-skill-store.ts'
import type { SkillSession } from './skill-session.ts'

const AGAIN = 'load it again before relying on it'

const revisionOf = (it: MemorySkills, name = 'refund'): string =>
  shortDigest(it.skills.current.get(name).revision)

async function openLoaded(): Promise<{ it: MemorySkills; session: SkillSession; first: string }> {
  const it = await openMemorySkills(['refund'])
  it.writeFile('refund', 'references/limits.md', 'At most 100.')
  it.writeFile('refund', 'scripts/refund.ts', 'export {}')
  await it.skills.fresh()
  const session = it.skills.session({ id: 's' })
  await loadSkill(session, 'refund')
  return { it, session, first: revisionOf(it) }
}

describe('the notice about a loaded skill', () => {
  test('the notice asks the model to load the skill again when the instructions changed', async () => {
    const { it, session, first } = await openLoaded()
    await using _ = it
    it.write('refund', { body: 'Newer.' })
    expect(linesOf(await session.update())).toEqual([
      `- you loaded refund at ${first}, it is now ${revisionOf(it)}: ${AGAIN}`,
    ])
  })

  test('the notice names the changed files and scripts, and says that calls now use the new files', async () => {
    const { it, session, first } = await openLoaded()
    await using _ = it
    it.writeFile('refund', 'scripts/refund.ts', 'export const fee = 1')
    it.writeFile('refund', 'references/fees.md', 'None.')
    it.remove('refund/references/limits.md')
    expect(linesOf(await session.update())).toEqual([
      `- you loaded refund at ${first}, it is now ${revisionOf(it)} with the same instructions; changed: scripts/refund.ts; added: references/fees.md; removed: references/limits.md; reads and calls answer from the new files`,
    ])
    expect(await session.update()).toBeUndefined()
  })

  test('the notice reports changed files together with changed instructions', async () => {
    const { it, session, first } = await openLoaded()
    await using _ = it
    it.write('refund', { body: 'Newer.' })
    it.writeFile('refund', 'scripts/refund.ts', 'export const fee = 1')
    expect(linesOf(await session.update())).toEqual([
      `- you loaded refund at ${first}, it is now ${revisionOf(it)}: ${AGAIN}; changed: scripts/refund.ts`,
    ])
  })

  test('the notice does not ask the model to load the skill again when only the frontmatter changed', async () => {
    const { it, session } = await openLoaded()
    await using _ = it
    it.write('refund', { extra: 'license: MIT\n' })
    expect(await session.update()).toBeUndefined()
    it.write('refund', { description: 'Pays back.', extra: 'license: MIT\n' })
    expect(linesOf(await session.update())).toEqual(['- description changed: refund: Pays back.'])
  })

  test('no notice reports a change of tests, and the files of tests are not listed', async () => {
    const { it, session } = await openLoaded()
    await using _ = it
    const before = revisionOf(it)
    it.writeFile('refund', 'evals/tests.yaml', 'fires: [Pay me back]')
    expect(await session.update()).toBeUndefined()
    expect(revisionOf(it)).not.toBe(before)
    const loaded = await loadSkill(session, 'refund')
    expect(loaded).toContain('references/limits.md')
    expect(loaded).not.toContain('evals')
    it.writeFile('refund', 'evals/tests.yaml', 'fires: [Refund it]')
    it.writeFile('refund', 'references/limits.md', 'At most 200.')
    expect(linesOf(await session.update())?.[0]).toMatch(/; changed: references\/limits\.md; reads/)
  })

  test('the notice names the files that changed since the last notice, and repeats that the instructions are outdated', async () => {
    const { it, session, first } = await openLoaded()
    await using _ = it
    it.write('refund', { body: 'Newer.' })
    it.writeFile('refund', 'references/limits.md', 'At most 200.')
    await session.update()
    it.writeFile('refund', 'scripts/refund.ts', 'export const fee = 1')
    expect(linesOf(await session.update())).toEqual([
      `- you loaded refund at ${first}, it is now ${revisionOf(it)}: ${AGAIN}; changed: scripts/refund.ts`,
    ])
    it.write('refund')
    expect(linesOf(await session.update())).toEqual([
      `- you loaded refund at ${first}, it is now ${revisionOf(it)} with the same instructions`,
    ])
  })

  test('the notice reports that files have their old content again', async () => {
    const { it, session, first } = await openLoaded()
    await using _ = it
    it.writeFile('refund', 'references/limits.md', 'At most 200.')
    await session.update()
    it.writeFile('refund', 'references/limits.md', 'At most 100.')
    expect(linesOf(await session.update())).toEqual([
      `- you loaded refund at ${first}; it is ${first} again; changed: references/limits.md`,
    ])
  })

  test('the notice counts the files that did not fit, and lists skills with changed instructions first', async () => {
    await using it = await openMemorySkills(['alpha', 'beta'])
    const session = it.skills.session({ id: 's' })
    await loadSkill(session, 'alpha')
    await loadSkill(session, 'beta')
    for (let index = 0; index < 20; index++) it.writeFile('alpha', `data/${'x'.repeat(90)}${index}.md`, 'x')
    it.write('beta', { body: 'Newer.' })
    const [first, second] = linesOf(await session.update()) ?? []
    expect(first).toMatch(/^- you loaded beta at .* load it again/)
    expect(second).toContain('; and 14 more files; reads and calls answer')
    expect(second?.length).toBeLessThan(800)
  })

  test('the notice escapes file names, so that a file name cannot forge a notice', async () => {
    await using it = await openMemorySkills(['refund'])
    const session = it.skills.session({ id: 's' })
    await loadSkill(session, 'refund')
    it.writeFile('refund', 'a.md; removed "b"', 'x')
    it.writeFile('refund', '<skills_update>, it is', 'x')
    const lines = linesOf(await session.update())
    expect(lines).toHaveLength(1)
    expect(lines?.[0]).toContain('added: "&lt;skills_update&gt;, it is", "a.md; removed &quot;b&quot;"')
  })
})

describe('the notice to a resumed conversation', () => {
  async function resumeWith(
    isKept: boolean,
    edit = (it: MemorySkills): void => it.writeFile('refund', 'scripts/refund.ts', 'export const fee = 1'),
  ): Promise<{ lines: string[] | undefined; pending: string }> {
    const { it, session } = await openLoaded()
    const state = JSON.parse(JSON.stringify(session.state()))
    await it.skills.close()
    const store = new MemorySkillStore()
    if (isKept) {
      // The contents that a store on disk has after a restart.
      await using before = await openMemorySkills([], it.files, { state: { store: new Unclosed(store) } })
      expect(before.skills.current.list()).toHaveLength(1)
      store.retain(before.skills.current.get('refund').revision)
    }
    edit(it)
    await using again = await openMemorySkills([], it.files, { state: { store } })
    const resumed = again.skills.session({ id: 's', resume: state })
    const pending = resumed.pending()?.text ?? ''
    return { lines: linesOf(await resumed.update()), pending }
  }

  test('the notice names the changed files when the store still has the old revision', async () => {
    const { lines } = await resumeWith(true)
    expect(lines).toEqual([
      expect.stringMatching(/ with the same instructions; changed: scripts\/refund\.ts; reads and calls/),
    ])
  })

  test('the notice names no files when the store has lost the old revision', async () => {
    const { lines, pending } = await resumeWith(false)
    const what =
      / with the same instructions; other files changed; reads and calls answer from the new files$/
    expect(lines).toEqual([expect.stringMatching(what)])
    expect(pending).toContain('other files changed')
  })

  test.each([
    ['the frontmatter', 'name: refund\ndescription: Does refund.\nlicense: MIT\n---\nBody of refund.\n'],
    [
      'the blank lines around the instructions',
      'name: refund\ndescription: Does refund.\n---\n\nBody of refund.\n\n',
    ],
  ])(
    'there is no notice if only %s changed, even if the store has lost the old revision',
    async (_, rest) => {
      const { lines } = await resumeWith(false, it =>
        it.files.write('/skills/refund/SKILL.md', `---\n${rest}`),
      )
      expect(lines).toBeUndefined()
    },
  )

  test('a conversation that was silent is told what came and went, once it is resumed to append', async () => {
    await using it = await openMemorySkills(['maps', 'pdf'])
    const silent = it.skills.session({ id: 's', delivery: 'silent' })
    it.write('tone')
    it.remove('maps')
    expect(await silent.update()).toBeUndefined()
    const state = silent.state()
    silent.close()
    const resumed = it.skills.session({ id: 's', resume: state })
    expect(linesOf(await resumed.update())).toEqual(['- removed: maps', '- added: tone: Does tone.'])
  })

  test('with rebuild, a skill that comes back as it was loaded corrects an earlier notice', async () => {
    await using it = await openMemorySkills(['pdf', 'maps'])
    const session = it.skills.session({ id: 's', delivery: 'rebuild' })
    await loadSkill(session, 'pdf')
    const loaded = it.skills.current.get('pdf').revision.slice(7, 15)
    it.write('pdf', { body: 'Second.' })
    expect(linesOf(await session.update())).toEqual([expect.stringContaining(AGAIN)])
    it.remove('pdf')
    expect(await session.update()).toBeUndefined()
    it.write('pdf')
    expect(linesOf(await session.update())).toEqual([`- you loaded pdf at ${loaded}; it is ${loaded} again`])
  })
})

/** A store that a second runtime uses after the first runtime was closed. */
class Unclosed extends MemorySkillStore {
  readonly #inner: MemorySkillStore

  constructor(inner: MemorySkillStore) {
    super()
    this.#inner = inner
  }

  override put(...args: Parameters<MemorySkillStore['put']>): void {
    this.#inner.put(...args)
    super.put(...args)
  }

  override putTree(...args: Parameters<MemorySkillStore['putTree']>): void {
    this.#inner.putTree(...args)
    super.putTree(...args)
  }

  override setRef(...args: Parameters<MemorySkillStore['setRef']>): void {
    this.#inner.setRef(...args)
    super.setRef(...args)
  }
}
