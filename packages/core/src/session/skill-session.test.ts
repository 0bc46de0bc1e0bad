import { describe, expect, test } from 'vitest'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import { shortDigest } from '../skill/digest.ts'
import { FileSource } from '../source/file-source.ts'
import { NO_SETTLE } from '../source/settle.ts'
import { DEFAULT_STORE_GRACE_MS, MemorySkillStore } from '../store/memory-skill-store.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import type { SkillSession } from './skill-session.ts'

const text = (name: string, description = `Does ${name}.`, body = `Body of ${name}.`): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n${body}\n`

async function open(names: readonly string[]): Promise<{
  fileSystem: MemoryFileSystem
  skills: SkillRuntime
  write: (name: string, description?: string, body?: string) => void
}> {
  const fileSystem = new MemoryFileSystem({ '/skills/.keep': '' })
  const write = (name: string, description?: string, body?: string): void =>
    fileSystem.write(`/skills/${name}/SKILL.md`, text(name, description, body))
  for (const name of names) write(name)
  const source = new FileSource({ fileSystem, root: '/skills', label: 'skills' })
  return {
    fileSystem,
    skills: await createSkillRuntime({ sources: [source], tuning: { settle: NO_SETTLE } }),
    write,
  }
}

async function load(session: SkillSession, name: string): Promise<string> {
  const result = await session.tools[0]?.execute({ name })
  return result?.text ?? ''
}

describe('SkillSession.update()', () => {
  test('update() returns undefined while no skill of this conversation has changed', async () => {
    const { skills, write } = await open(['pdf'])
    const session = skills.session({ id: 's' })
    expect(await session.update()).toBeUndefined()
    write('pdf', undefined, 'An edited body of a skill that is not loaded.')
    expect(await session.update()).toBeUndefined()
    expect(session.generation).toBe(skills.current)
    await skills.close()
  })

  test('update() reports each added skill, removed skill and changed description only once', async () => {
    const { skills, write, fileSystem } = await open(['maps', 'pdf', 'tone'])
    const session = skills.session({ id: 's' })
    const { catalog } = session
    write('new')
    write('pdf', 'Reads <PDF> files.')
    fileSystem.remove('/skills/tone')
    const update = await session.update()
    expect(update?.text).toBe(
      [
        `<skills_update generation="${shortDigest(skills.current.digest)}">`,
        '- removed: tone',
        '- added: new: Does new.',
        '- description changed: pdf: Reads &lt;PDF&gt; files.',
        '</skills_update>',
      ].join('\n'),
    )
    expect(update).toMatchObject({ generation: skills.current.number, digest: skills.current.digest })
    expect(await session.update()).toBeUndefined()
    expect(session.catalog).toBe(catalog)
    await skills.close()
  })

  test('update() does not report changes that were undone before the call', async () => {
    const { skills, write, fileSystem } = await open(['pdf'])
    const session = skills.session({ id: 's' })
    write('new')
    write('pdf', 'Other.')
    await skills.fresh()
    fileSystem.remove('/skills/new')
    write('pdf')
    expect(await session.update()).toBeUndefined()
    await skills.close()
  })

  test('update() reports a newer revision of a loaded skill, and later reports that the old revision is back', async () => {
    const { skills, write } = await open(['pdf'])
    const session = skills.session({ id: 's' })
    await load(session, 'pdf')
    const first = shortDigest(skills.current.get('pdf').revision)
    write('pdf', undefined, 'Newer body.')
    const second = await session.update()
    const now = shortDigest(skills.current.get('pdf').revision)
    expect(second?.text).toContain(
      `- you loaded pdf at ${first}, it is now ${now}: load it again before relying on it`,
    )
    write('pdf')
    expect((await session.update())?.text).toContain(`- you loaded pdf at ${first}; it is ${first} again`)
    await load(session, 'pdf')
    expect(await session.update()).toBeUndefined()
    await skills.close()
  })

  test('update() reports a return to an old revision of a loaded skill even if the edit was never reported', async () => {
    const { skills, write } = await open(['pdf'])
    const session = skills.session({ id: 's' })
    write('pdf', undefined, 'Newer body.')
    await load(session, 'pdf')
    write('pdf')
    expect((await session.update())?.text).toContain('- you loaded pdf at')
    expect(await session.update()).toBeUndefined()
    await skills.close()
  })

  test('update() reports the removal and the return of a loaded skill', async () => {
    const { skills, write, fileSystem } = await open(['maps', 'pdf'])
    const session = skills.session({ id: 's' })
    await load(session, 'pdf')
    fileSystem.remove('/skills/pdf')
    expect((await session.update())?.text).toContain('- removed: pdf')
    write('pdf')
    const back = (await session.update())?.text
    expect(back).toContain('- added: pdf')
    expect(back).not.toContain('you loaded')
    expect(await session.update()).toBeUndefined()
    await skills.close()
  })

  test('update() limits the length of a notice, and counts the changes that did not fit', async () => {
    const { skills, write } = await open([])
    const session = skills.session({ id: 's' })
    for (let i = 0; i < 40; i++) write(`skill-${i}`, 'x'.repeat(10))
    const lines = (await session.update())?.text.split('\n') ?? []
    expect(lines).toHaveLength(15)
    expect(lines.at(-2)).toBe('- 28 more skills changed; the skill tool lists and searches them')
    for (let i = 0; i < 40; i++) write(`skill-${i}`, 'y'.repeat(900))
    const long = (await session.update())?.text ?? ''
    expect(long).toContain('- 37 more skills changed')
    expect(long.length).toBeLessThan(1_400)
    await skills.close()
  })

  test('update() reports only skills in scope', async () => {
    const { skills, write } = await open(['support-a', 'pdf'])
    const session = skills.session({ id: 's', scope: { include: ['support-*'], exclude: ['support-x'] } })
    expect(session.catalog).toContain('support-a')
    expect(session.catalog).not.toContain('pdf')
    write('pdf', 'Other.')
    write('support-x')
    expect(await session.update()).toBeUndefined()
    write('support-b')
    expect((await session.update())?.text).toContain('- added: support-b')
    expect(await load(session, 'pdf')).toBe(
      'no skill "pdf"; call skill with an empty name to list the 2 available',
    )
    await skills.close()
  })
})

describe('SkillSession.rebase()', () => {
  test('rebase() returns the newest catalog, and the loaded skills at their newest revisions', async () => {
    const { skills, write, fileSystem } = await open(['maps', 'pdf', 'tone'])
    const session = skills.session({ id: 's' })
    for (const name of ['maps', 'pdf', 'tone']) await load(session, name)
    write('new')
    write('pdf', undefined, 'Newer body.')
    fileSystem.remove('/skills/tone')
    const rebase = await session.rebase()
    expect(rebase.catalog).toBe(session.catalog)
    expect(rebase.catalog).toContain('<name>new</name>')
    expect(rebase.restore.map(each => each.name)).toEqual(['maps', 'pdf'])
    expect(rebase.restore[1]?.text).toContain('Newer body.')
    expect(rebase.dropped).toEqual(['tone'])
    expect(await session.update()).toBeUndefined()
    await skills.close()
  })

  test('rebase() restores the last loaded skills that fit in maxTokens, and names the dropped skills', async () => {
    const { skills, write } = await open(['maps', 'pdf'])
    write('pdf', undefined, 'x'.repeat(4_000))
    const session = skills.session({ id: 's' })
    await load(session, 'pdf')
    await load(session, 'maps')
    const rebase = await session.rebase({ maxTokens: 500 })
    expect(rebase.restore.map(each => each.name)).toEqual(['maps'])
    expect(rebase.dropped).toEqual(['pdf'])
    expect(session.ledger.find('pdf')).toBeUndefined()
    await skills.close()
  })
})

test('the list of tools is the same for every conversation and every generation', async () => {
  const { skills, write } = await open(['pdf'])
  const before = JSON.stringify(skills.session({ id: 'a' }).tools)
  write('maps')
  await skills.fresh()
  expect(JSON.stringify(skills.session({ id: 'b', scope: { include: ['maps'] } }).tools)).toBe(before)
  await skills.close()
})

test('sessions() lists the open conversations', async () => {
  const { skills } = await open(['pdf'])
  const session = skills.session({ id: 'kept' })
  expect(skills.sessions()).toEqual([session])
  await skills.close()
})

test('SkillSession.update({ fresh: false }) reports only changes that are already known, without reading the disk', async () => {
  const { skills, write } = await open(['pdf'])
  const session = skills.session({ id: 's' })
  write('maps')
  expect(await session.update({ fresh: false })).toBeUndefined()
  await skills.fresh()
  expect((await session.update({ fresh: false }))?.text).toContain('added: maps')
  await skills.close()
})

describe('SkillSession.pending()', () => {
  test('pending() returns the next update without recording it as reported', async () => {
    const { skills, write, fileSystem } = await open(['pdf', 'tone'])
    const session = skills.session({ id: 's' })
    await load(session, 'pdf')
    expect(session.pending()).toBeUndefined()
    write('pdf', undefined, 'Edited.')
    fileSystem.remove('/skills/tone')
    await skills.fresh()
    const pending = session.pending()
    expect(pending?.text).toContain('you loaded pdf at')
    expect(session.pending()?.text).toBe(pending?.text)
    const update = await session.update()
    expect(update?.text).toBe(pending?.text)
    expect(pending).toMatchObject({ ...update })
    expect(session.pending()).toBeUndefined()
    await skills.close()
  })
})

describe('SkillSession.close()', () => {
  test('close() removes the conversation from sessions() and releases the old revisions that the conversation received', async () => {
    const fileSystem = new MemoryFileSystem({ '/skills/pdf/SKILL.md': text('pdf') })
    const clock = new FakeClock()
    const store = new MemorySkillStore({ clock })
    const skills = await createSkillRuntime({
      sources: [new FileSource({ fileSystem, root: '/skills', label: 'skills', watching: 'off' })],
      tuning: { settle: NO_SETTLE },
      state: { store },
      clock,
    })
    const session = skills.session({ id: 's' })
    const other = skills.session({ id: 't' })
    await load(session, 'pdf')
    const { revision } = skills.current.get('pdf')
    // The store always keeps the last two revisions, because the newest may be rejected.
    for (const body of ['Edited.', 'Edited again.']) {
      fileSystem.write('/skills/pdf/SKILL.md', text('pdf', undefined, body))
      await skills.reload()
    }
    await clock.advance(DEFAULT_STORE_GRACE_MS + 1)
    expect(await store.getTree(revision)).toBeDefined()
    session.close()
    session.close()
    expect(skills.sessions()).toEqual([other])
    await clock.advance(DEFAULT_STORE_GRACE_MS + 1)
    expect(await store.getTree(revision)).toBeUndefined()
    await skills.close()
  })
})
